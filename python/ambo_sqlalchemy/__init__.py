"""Ambo for SQLAlchemy: `create_engine("ambo:///shop.ambo")`, or `"ambo://"` for a database in memory.

>>> from sqlalchemy import create_engine, text
>>> engine = create_engine("ambo://")
>>> with engine.begin() as connection:
...     _ = connection.execute(text("create table towns (id int primary key, name text)"))
...     _ = connection.execute(text("insert into towns values (:id, :name)"), [{"id": 1, "name": "Bergen"}])
>>> with engine.connect() as connection:
...     connection.execute(text("select name from towns")).scalars().all()
['Bergen']
"""

from __future__ import annotations

import importlib.util

from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql import insert

from .dialect import AmboDialect

if importlib.util.find_spec("alembic") is not None:
    from . import migrations as migrations

# An installed package is found by its entry points; this is for one that is only imported.
for _name in ("ambo", "ambo.ambo"):
    registry.register(_name, "ambo_sqlalchemy", "AmboDialect")

__all__ = ["AmboDialect", "insert"]

#: What SQLAlchemy asks the module of a dialect for.
dialect = AmboDialect
