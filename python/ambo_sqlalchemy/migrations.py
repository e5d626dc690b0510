"""Ambo for Alembic, which finds it by the name of the dialect. Definitions are part of transactions, and ALTER TABLE does what is asked for."""

from __future__ import annotations

from typing import Any

from alembic.ddl.base import ColumnComment, format_column_name, format_table_name
from alembic.ddl.impl import DefaultImpl
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.types import String


@compiles(ColumnComment, "ambo")
def _column_comment(element: ColumnComment, compiler: Any, **kw: Any) -> str:
    table = format_table_name(compiler, element.table_name, element.schema)
    column = format_column_name(compiler, element.column_name)
    comment = "NULL" if element.comment is None else compiler.sql_compiler.render_literal_value(element.comment, String())
    return f"COMMENT ON COLUMN {table}.{column} IS {comment}"


class AmboImpl(DefaultImpl):
    """What Alembic knows of Ambo."""

    __dialect__ = "ambo"
    transactional_ddl = True

    def correct_for_autogen_constraints(
        self,
        conn_unique_constraints: set[Any],
        conn_indexes: set[Any],
        metadata_unique_constraints: set[Any],
        metadata_indexes: set[Any],
    ) -> None:
        """Unique constraints are unique indexes, and come as both: what the metadata does not know by one name, it may by the other."""
        constraints = {constraint.name for constraint in metadata_unique_constraints}
        indexes = {index.name for index in metadata_indexes}
        for index in list(conn_indexes):
            if index.unique and index.name in constraints:
                conn_indexes.discard(index)
        for constraint in list(conn_unique_constraints):
            if constraint.name in indexes or constraint.name not in constraints:
                conn_unique_constraints.discard(constraint)
