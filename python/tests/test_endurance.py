"""A part of `endurance.py`, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("part", [
    ["--opens=300", "--forks=0", "--seconds=0"],
    ["--opens=0", "--forks=60", "--seconds=0"],
    ["--opens=0", "--forks=0", "--seconds=4"],
])
def test_nothing_leaks_hangs_or_crashes(part: list[str]) -> None:
    done = subprocess.run([sys.executable, str(Path(__file__).parent / "endurance.py"), *part], capture_output=True, text=True, timeout=230)
    assert done.returncode == 0, done.stderr
