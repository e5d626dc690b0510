"""Views of key-value tables, which read ranges instead of key by key."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, ValuesView
from typing import Any


class Items(ItemsView[Any, Any]):
    """The pairs of a table."""

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        pairs: Iterator[tuple[Any, Any]] = self._mapping.range()  # type: ignore[attr-defined]
        return pairs

    def __reversed__(self) -> Iterator[tuple[Any, Any]]:
        pairs: Iterator[tuple[Any, Any]] = self._mapping.range(reverse=True)  # type: ignore[attr-defined]
        return pairs


class Values(ValuesView[Any]):
    """The values of a table."""

    def __iter__(self) -> Iterator[Any]:
        return (value for _, value in self._mapping.range())  # type: ignore[attr-defined]

    def __reversed__(self) -> Iterator[Any]:
        return (value for _, value in self._mapping.range(reverse=True))  # type: ignore[attr-defined]
