"""Types: what texts of the catalog mean, and those that are Ambo's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlalchemy import cast, types, util
from sqlalchemy.dialects import postgresql


class TINYINT(types.Integer):
    """One byte."""

    __visit_name__ = "TINYINT"


class INTERVAL(postgresql.INTERVAL):
    """A length of time. Values are given as texts, so they are cast."""

    cache_ok = True

    @classmethod
    def adapt_emulated_to_native(cls, interval: Any, **kw: Any) -> INTERVAL:
        """What SQLAlchemy's own type of intervals is."""
        return cls(precision=interval.second_precision)

    def bind_expression(self, bindvalue: Any) -> Any:
        """What a value is in a statement."""
        return cast(bindvalue, self)

    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        """How a value is written."""

        def written(value: Any) -> str:
            return f"INTERVAL '{value.days} days {value.seconds} seconds {value.microseconds} microseconds'"

        return written


class STRUCT(types.TypeEngine[Any]):
    """A struct or a map, which Python has as a dict. `text` is the type as it is written in SQL."""

    __visit_name__ = "STRUCT"

    def __init__(self, text: str) -> None:
        self.text = text


class _Steps:
    """Steps into JSON, as the path that `->` takes."""

    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        """How a value is given."""
        text = self.string_bind_processor(dialect)  # type: ignore[attr-defined]
        return lambda value: text(self.path(value)) if text else self.path(value)

    def literal_processor(self, dialect: Any) -> Callable[[Any], Any]:
        """How a value is written."""
        text = self.string_literal_processor(dialect)  # type: ignore[attr-defined]
        return lambda value: text(self.path(value)) if text else self.path(value)

    def path(self, value: Any) -> str:
        """The path."""
        steps = value if isinstance(value, (list, tuple)) else [value]
        return "$" + "".join(f"[{step}]" if isinstance(step, int) else f'."{step}"' for step in steps)


class JSON_INDEX(_Steps, types.JSON.JSONIndexType):
    """A step."""


class JSON_PATH(_Steps, types.JSON.JSONPathType):
    """Several steps."""


named_types: dict[str, type[types.TypeEngine[Any]]] = {
    "bigint": types.BIGINT,
    "blob": types.BLOB,
    "boolean": types.BOOLEAN,
    "date": types.DATE,
    "decimal": types.DECIMAL,
    "double": types.DOUBLE,
    "enum": types.Enum,
    "integer": types.INTEGER,
    "interval": INTERVAL,
    "json": types.JSON,
    "real": types.REAL,
    "smallint": types.SMALLINT,
    "text": types.TEXT,
    "time": types.TIME,
    "timestamp": types.TIMESTAMP,
    "tinyint": TINYINT,
    "uuid": types.UUID,
    # Python's integers have no bounds, and there is no type of SQLAlchemy's that says it.
    "bigint unsigned": types.BIGINT,
    "integer unsigned": types.BIGINT,
    "smallint unsigned": types.INTEGER,
    "tinyint unsigned": types.SMALLINT,
}


def type_named(text: str) -> types.TypeEngine[Any]:
    """The type of a text of `information_schema.columns.data_type`."""
    lists = re.search(r"(\[\d*\])+$", text)
    if lists:
        return types.ARRAY(type_named(text[: lists.start()]), dimensions=lists.group().count("["))
    if text.startswith(("struct(", "map(")):
        return STRUCT(text)
    if text.startswith("enum("):
        labels = re.findall(r"'((?:[^']|'')*)'", text)
        return types.Enum(*(label.replace("''", "'") for label in labels))
    if text == "timestamp with time zone":
        return types.TIMESTAMP(timezone=True)
    bare, _, rest = text.partition("(")
    known = named_types.get(bare)
    if known is None:
        util.warn(f"there is no type of SQLAlchemy's for {text}")
        return types.NullType()
    numbers = [int(number) for number in re.findall(r"\d+", rest)]
    return known(*numbers)
