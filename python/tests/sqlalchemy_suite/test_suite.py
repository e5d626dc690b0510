"""The tests, and those of them that ask for what Ambo does in another way, without a switch of their own."""

from __future__ import annotations

from typing import Any

from sqlalchemy import types
from sqlalchemy.testing import combinations
from sqlalchemy.testing.suite import *  # noqa: F403
from sqlalchemy.testing.suite import ComponentReflectionTestExtra as _ComponentReflectionTestExtra
from sqlalchemy.testing.suite import LongNameBlowoutTest as _LongNameBlowoutTest


class ComponentReflectionTestExtra(_ComponentReflectionTestExtra):
    @combinations(types.String, types.VARCHAR, argnames="type_")
    def test_string_length_reflection(self, connection: Any, metadata: Any, type_: Any) -> None:
        """Without `CHAR`, which is a text with a longest length as `VARCHAR` is."""
        assert self._type_round_trip(connection, metadata, type_(52))[0].length == 52


class LongNameBlowoutTest(_LongNameBlowoutTest):
    @combinations(("fk",), ("ix",), ("ck",), ("uq",), argnames="type_")
    def test_long_convention_name(self, type_: str, metadata: Any, connection: Any) -> None:
        """Without primary keys, which are named for their tables."""
        actual, reflected = getattr(self, type_)(metadata, connection)
        assert len(actual) > 255
        # What is cut off ends with a mark.
        assert reflected is None or reflected[:-5] == actual[: len(reflected) - 5]
