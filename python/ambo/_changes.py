"""What `Connection.changes` tells, and what a backup says of itself."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple


class Change(NamedTuple):
    """A row that a commit wrote."""

    #: Its table with its schema, as it is called now.
    table: str
    #: The values of its key; of a table without one, a hidden number.
    key: tuple[Any, ...]
    #: What became of it. A row that is `elsewhere` was too long for the log and is to be read; if it is gone, a later commit says so.
    fate: Literal["written", "deleted", "elsewhere"]
    #: Its values, if it was written.
    values: tuple[Any, ...] | None


class DeletedRange(NamedTuple):
    """A range of keys that was deleted at once, as they are stored."""

    #: Its table with its schema, as it is called now.
    table: str
    #: The first key in it.
    lower: bytes
    #: The first key behind it; `None` if there is no end.
    upper: bytes | None


class Commit(NamedTuple):
    """A commit."""

    #: When: the number of the commit.
    moment: int
    #: The rows that it wrote, in order. Those of tables that are dropped by now are left out.
    rows: list[Change]
    #: Ranges that it deleted, before it wrote the rows.
    ranges: list[DeletedRange]
    #: Whether it changed definitions.
    defines: bool


class Unlogged(NamedTuple):
    """Commits that the log does not have, such as bulk loads: who follows their tables reads them anew."""

    #: The first of their moments.
    first: int
    #: The last.
    last: int


class BackupReport(NamedTuple):
    """What making or restoring a backup did."""

    #: Every commit up to this one is in it.
    moment: int
    #: Bytes of pages, which were copied.
    page_bytes: int
    #: Files that have a second name in the directory of the backup.
    linked: int
    #: Files that were copied, as they could not be linked.
    copied: int
    #: Their bytes.
    copied_bytes: int
    #: Files that an earlier backup had already.
    kept: int
    #: Files of an earlier backup that this one does not need.
    removed: int
