from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import ambo

#: Run on its own, by the plugin of SQLAlchemy's.
collect_ignore = ["sqlalchemy_suite"]


@pytest.fixture
def con() -> Iterator[ambo.Connection]:
    with ambo.connect() as con:
        yield con
        if not con.closed:
            assert con.check() == []


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "db")
