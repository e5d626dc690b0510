"""Results as tables and frames of other libraries: methods of `Cursor`, which are Python's because those libraries come back for rows."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ._ambo import Cursor
from ._errors import NotSupportedError


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise NotSupportedError(f"{name} is not installed\nhint: pip install {name}", sqlstate="0A000") from None


def fetch_arrow_table(self: Cursor) -> Any:
    """The rows as a table of pyarrow's."""
    return _library("pyarrow").table(self)


def fetch_record_batch(self: Cursor) -> Any:
    """The rows as a reader of pyarrow's, which takes them batch by batch."""
    return _library("pyarrow").RecordBatchReader.from_stream(self)


def fetch_df(self: Cursor) -> Any:
    """The rows as a frame of pandas'."""
    return fetch_arrow_table(self).to_pandas()


def fetch_polars(self: Cursor) -> Any:
    """The rows as a frame of polars'."""
    return _library("polars").DataFrame(self)


def fetch_numpy(self: Cursor) -> dict[str, Any]:
    """The columns as arrays of numpy's, by their names."""
    table = fetch_arrow_table(self)
    return {name: column.to_numpy() for name, column in zip(table.column_names, table.columns, strict=True)}


for _method in (fetch_arrow_table, fetch_record_batch, fetch_df, fetch_polars, fetch_numpy):
    setattr(Cursor, _method.__name__, _method)
