"""Views of key-value tables, which read ranges instead of key by key."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, ValuesView
from typing import Any

from ._ambo import KeyValue


class Items(ItemsView[Any, Any]):
    """The pairs of a table."""

    _mapping: KeyValue

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return self._mapping.range()

    def __reversed__(self) -> Iterator[tuple[Any, Any]]:
        return self._mapping.range(reverse=True)


class Values(ValuesView[Any]):
    """The values of a table."""

    _mapping: KeyValue

    def __iter__(self) -> Iterator[Any]:
        return (value for _, value in self._mapping.range())

    def __reversed__(self) -> Iterator[Any]:
        return (value for _, value in self._mapping.range(reverse=True))
