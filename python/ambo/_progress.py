"""What is drawn while a long query is waited for: a line of a terminal, or an output of a notebook. Called in the thread that waits."""

from __future__ import annotations

import importlib
import sys
import threading
from typing import Any

#: The output of a notebook that is drawn in.
_display: Any = None
#: How long the line of the terminal is.
_width = 0


def draw(rows_read: int, rows_total: int | None, bytes_spilled: int, wanted: bool | None) -> bool:
    """Draws how far a query is. Says whether there was something to draw on."""
    global _display, _width
    if threading.current_thread() is not threading.main_thread():
        return False
    text = _text(rows_read, rows_total, bytes_spilled)
    if _in_notebook():
        display = importlib.import_module("IPython.display").display
        if _display is None:
            _display = display({"text/plain": text}, raw=True, display_id=True)
        else:
            _display.update({"text/plain": text}, raw=True)
        return True
    if not (wanted or sys.stderr.isatty()):
        return False
    sys.stderr.write("\r" + text.ljust(_width))
    sys.stderr.flush()
    _width = len(text)
    return True


def clear() -> None:
    """Takes back what was drawn."""
    global _display, _width
    if _display is not None:
        _display.update({"text/plain": ""}, raw=True)
        _display = None
    if _width:
        sys.stderr.write("\r" + " " * _width + "\r")
        sys.stderr.flush()
        _width = 0


def _text(rows_read: int, rows_total: int | None, bytes_spilled: int) -> str:
    text = f"{rows_read:,} rows read"
    if rows_total:
        percent = min(100, rows_read * 100 // rows_total)
        text = f"[{'#' * (percent // 5):20}] {percent:3} %  {rows_read:,} of about {rows_total:,} rows"
    if bytes_spilled:
        text += f", {bytes_spilled / 2**20:,.0f} MiB in temporary files"
    return text


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None
