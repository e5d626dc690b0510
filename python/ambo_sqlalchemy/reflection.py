"""What is defined in a database, read from `information_schema`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Any

from sqlalchemy import exc, types
from sqlalchemy.engine import reflection
from sqlalchemy.engine.reflection import ObjectKind, ObjectScope

from .types import type_named

#: The schema of names without one.
MAIN = "main"

#: Where a schema is looked for: the database, and for names without a schema what is temporary, too.
_HERE = "(table_catalog, table_schema) in (('ambo', ?), ('temp', ?))"
_HERE_T = _HERE.replace("table_", "t.table_")
_HERE_C = _HERE.replace("table_", "c.table_")

#: A table by its schema, as it was asked for, and its name.
Key = tuple[str | None, str]

_KINDS = {"BASE TABLE": ObjectKind.TABLE, "LOCAL TEMPORARY": ObjectKind.TABLE, "VIEW": ObjectKind.VIEW, "SYSTEM VIEW": ObjectKind.VIEW}
_SCOPES = {"ambo": ObjectScope.DEFAULT, "temp": ObjectScope.TEMPORARY}

#: The check that `varchar(n)` is.
_LENGTH = re.compile(r'^character_length\((?:"((?:[^"]|"")*)"|(\w+))\) <= (\d+)$')

_KEYS = f"""select c.table_catalog, c.table_name, c.constraint_name, k.column_name, c.is_deferrable, c.initially_deferred,
        k.referenced_table_schema, k.referenced_table_name, k.referenced_column_name
    from information_schema.table_constraints as c join information_schema.key_column_usage as k
        on c.constraint_name = k.constraint_name and c.table_name = k.table_name and c.table_schema = k.table_schema
        and c.table_catalog = k.table_catalog
    where {_HERE_C} and c.constraint_type = ?
    order by c.table_name, c.constraint_name, k.ordinal_position"""


class Reflection:
    """The part of the dialect that reads the catalog. Each thing is read of all tables at once; of one table it is the same."""

    def _rows(self, connection: Any, query: str, *values: Any) -> list[Any]:
        return connection.exec_driver_sql(query, values).all()

    def _rows_of(self, connection: Any, query: str, schema: str | None, *values: Any) -> list[Any]:
        """Rows of a query that asks for what is `_HERE`."""
        return self._rows(connection, query, schema or MAIN, MAIN if schema is None else "", *values)

    def _objects(
        self,
        connection: Any,
        schema: str | None,
        names: Collection[str] | None = None,
        scope: ObjectScope = ObjectScope.ANY,
        kind: ObjectKind = ObjectKind.ANY,
    ) -> dict[str, Any]:
        """Tables and views by name. What is temporary stands before what stays."""
        query = f"""select table_catalog, table_name, table_type, table_comment, storage from information_schema.tables
            where {_HERE} order by table_catalog, table_name"""
        wanted = None if names is None else set(names)
        return {
            row.table_name: row
            for row in self._rows_of(connection, query, schema)
            if _SCOPES[row.table_catalog] in scope and _KINDS[row.table_type] in kind and (wanted is None or row.table_name in wanted)
        }

    def _each(
        self, connection: Any, asked: tuple[Any, ...], rows: Iterable[Any], empty: Callable[[], Any], of: Callable[[str, list[Any]], Any]
    ) -> Iterable[tuple[Key, Any]]:
        """What rows, each of which has the name of a table, say of the tables that were asked for."""
        schema, names, scope, kind = asked
        by_table = defaultdict(list)
        for row in rows:
            by_table[row.table_catalog, row.table_name].append(row)
        for name, found in self._objects(connection, schema, names, scope, kind).items():
            key = found.table_catalog, name
            yield (schema, name), of(name, by_table[key]) if key in by_table else empty()

    # Names.

    @reflection.cache
    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        """All schemas."""
        query = "select schema_name from information_schema.schemata where catalog_name = 'ambo' order by 1"
        return [row[0] for row in self._rows(connection, query)]

    @reflection.cache
    def has_schema(self, connection: Any, schema_name: str, **kw: Any) -> bool:
        """Whether a schema is there."""
        query = "select 1 from information_schema.schemata where catalog_name = 'ambo' and schema_name = ?"
        return bool(self._rows(connection, query, schema_name))

    @reflection.cache
    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        """Tables of a schema."""
        return list(self._objects(connection, schema, scope=ObjectScope.DEFAULT, kind=ObjectKind.TABLE))

    @reflection.cache
    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        """Views of a schema."""
        return list(self._objects(connection, schema, scope=ObjectScope.DEFAULT, kind=ObjectKind.VIEW))

    def get_temp_table_names(self, connection: Any, **kw: Any) -> list[str]:
        """Temporary tables of the connection."""
        return list(self._objects(connection, None, scope=ObjectScope.TEMPORARY, kind=ObjectKind.TABLE))

    def get_temp_view_names(self, connection: Any, **kw: Any) -> list[str]:
        """Temporary views of the connection."""
        return list(self._objects(connection, None, scope=ObjectScope.TEMPORARY, kind=ObjectKind.VIEW))

    def get_materialized_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        """There are none."""
        return []

    @reflection.cache
    def get_sequence_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        """Sequences of a schema."""
        query = """select sequence_name from information_schema.sequences
            where sequence_catalog = 'ambo' and sequence_schema = ? order by 1"""
        return [row[0] for row in self._rows(connection, query, schema or MAIN)]

    @reflection.cache
    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        """Whether a table or a view is there."""
        return table_name in self._objects(connection, schema, [table_name])

    @reflection.cache
    def has_sequence(self, connection: Any, sequence_name: str, schema: str | None = None, **kw: Any) -> bool:
        """Whether a sequence is there."""
        return sequence_name in self.get_sequence_names(connection, schema, **kw)

    @reflection.cache
    def get_view_definition(self, connection: Any, view_name: str, schema: str | None = None, **kw: Any) -> str:
        """The query of a view."""
        query = f"""select view_definition from information_schema.views
            where {_HERE} and table_name = ? order by table_catalog desc"""
        found = self._rows_of(connection, query, schema, view_name)
        if not found:
            raise exc.NoSuchTableError(f"{schema}.{view_name}" if schema else view_name)
        return str(found[0][0])

    # What tables are made of.

    def get_multi_columns(
        self,
        connection: Any,
        schema: str | None = None,
        filter_names: Collection[str] | None = None,
        scope: ObjectScope = ObjectScope.ANY,
        kind: ObjectKind = ObjectKind.ANY,
        **kw: Any,
    ) -> Iterable[tuple[Key, Any]]:
        """Columns. A text with a check of its length is a `VARCHAR`."""
        lengths = {(row.table_catalog, row.table_name, name): length for row, name, length in self._lengths(connection, schema)}
        query = f"select * from information_schema.columns where {_HERE} order by table_name, ordinal_position"

        def column(row: Any) -> dict[str, Any]:
            kind = type_named(row.data_type)
            length = lengths.get((row.table_catalog, row.table_name, row.column_name))
            if length is not None:
                kind = types.VARCHAR(length)
            column = {
                "name": row.column_name,
                "type": kind,
                "nullable": row.is_nullable == "YES",
                "default": row.column_default,
                "autoincrement": row.is_identity == "YES",
                "comment": row.column_comment,
            }
            if row.is_generated == "ALWAYS":
                column["computed"] = {"sqltext": row.generation_expression, "persisted": True}
            return column

        def of(_name: str, rows: list[Any]) -> Any:
            return [column(row) for row in rows]

        rows = self._rows_of(connection, query, schema)
        return self._each(connection, (schema, filter_names, scope, kind), rows, list, of)

    def _checks(self, connection: Any, schema: str | None) -> list[Any]:
        query = f"""select t.table_catalog, t.table_name, t.constraint_name, c.check_clause
            from information_schema.table_constraints as t join information_schema.check_constraints as c
                on t.constraint_name = c.constraint_name and t.constraint_schema = c.constraint_schema
                and t.constraint_catalog = c.constraint_catalog
            where {_HERE_T} and t.constraint_type = 'CHECK' order by 1, 2, 3"""
        return self._rows_of(connection, query, schema)

    def _lengths(self, connection: Any, schema: str | None) -> Iterable[tuple[Any, str, int]]:
        """Checks that are lengths of columns, with the column and the length."""
        for row in self._checks(connection, schema):
            found = _LENGTH.match(row.check_clause)
            name = (found[1].replace('""', '"') if found[1] else found[2]) if found else None
            if name is not None and found and row.constraint_name.endswith("_length"):
                yield row, name, int(found[3])

    def get_multi_check_constraints(
        self,
        connection: Any,
        schema: str | None = None,
        filter_names: Collection[str] | None = None,
        scope: ObjectScope = ObjectScope.ANY,
        kind: ObjectKind = ObjectKind.ANY,
        **kw: Any,
    ) -> Iterable[tuple[Key, Any]]:
        """Checks, without those that are lengths."""
        lengths = {(row.table_catalog, row.table_name, row.constraint_name) for row, _, _ in self._lengths(connection, schema)}
        checks = self._checks(connection, schema)
        rows = [row for row in checks if (row.table_catalog, row.table_name, row.constraint_name) not in lengths]

        def of(_name: str, rows: list[Any]) -> Any:
            return [{"name": row.constraint_name, "sqltext": row.check_clause} for row in rows]

        return self._each(connection, (schema, filter_names, scope, kind), rows, list, of)

    def get_multi_pk_constraint(
        self,
        connection: Any,
        schema: str | None = None,
        filter_names: Collection[str] | None = None,
        scope: ObjectScope = ObjectScope.ANY,
        kind: ObjectKind = ObjectKind.ANY,
        **kw: Any,
    ) -> Iterable[tuple[Key, Any]]:
        """Primary keys, which are named for their tables."""
        rows = self._rows_of(connection, _KEYS, schema, "PRIMARY KEY")

        def of(_name: str, rows: list[Any]) -> Any:
            return {"name": rows[0].constraint_name, "constrained_columns": [row.column_name for row in rows]}

        def empty() -> Any:
            return {"name": None, "constrained_columns": []}

        return self._each(connection, (schema, filter_names, scope, kind), rows, empty, of)

    def get_multi_unique_constraints(
        self,
        connection: Any,
        schema: str | None = None,
        filter_names: Collection[str] | None = None,
        scope: ObjectScope = ObjectScope.ANY,
        kind: ObjectKind = ObjectKind.ANY,
        **kw: Any,
    ) -> Iterable[tuple[Key, Any]]:
        """Unique constraints, which are unique indexes: `get_indexes` has them, too."""
        rows = self._rows_of(connection, _KEYS, schema, "UNIQUE")

        def of(_name: str, rows: list[Any]) -> Any:
            named: dict[str, list[str]] = defaultdict(list)
            for row in rows:
                named[row.constraint_name].append(row.column_name)
            return [{"name": name, "column_names": columns, "duplicates_index": name} for name, columns in named.items()]

        return self._each(connection, (schema, filter_names, scope, kind), rows, list, of)

    def get_multi_foreign_keys(
        self,
        connection: Any,
        schema: str | None = None,
        filter_names: Collection[str] | None = None,
        scope: ObjectScope = ObjectScope.ANY,
        kind: ObjectKind = ObjectKind.ANY,
        **kw: Any,
    ) -> Iterable[tuple[Key, Any]]:
        """Foreign keys."""
        rows = self._rows_of(connection, _KEYS, schema, "FOREIGN KEY")
        query = f"""select t.table_catalog, t.table_name, t.constraint_name, r.update_rule, r.delete_rule
            from information_schema.table_constraints as t join information_schema.referential_constraints as r
                on t.constraint_name = r.constraint_name and t.constraint_schema = r.constraint_schema
                and t.constraint_catalog = r.constraint_catalog
            where {_HERE_T} and t.constraint_type = 'FOREIGN KEY'"""
        rules = {(row.table_catalog, row.table_name, row.constraint_name): row for row in self._rows_of(connection, query, schema)}

        def key(name: str, columns: list[Any]) -> dict[str, Any]:
            first = columns[0]
            rule = rules[(first.table_catalog, name, first.constraint_name)]
            options: dict[str, Any] = {}
            if rule.update_rule != "NO ACTION":
                options["onupdate"] = rule.update_rule
            if rule.delete_rule != "NO ACTION":
                options["ondelete"] = rule.delete_rule
            if first.is_deferrable == "YES":
                options["deferrable"] = True
                if first.initially_deferred == "YES":
                    options["initially"] = "DEFERRED"
            is_main = schema is None and first.referenced_table_schema == MAIN
            return {
                "name": first.constraint_name,
                "constrained_columns": [row.column_name for row in columns],
                "referred_schema": None if is_main else first.referenced_table_schema,
                "referred_table": first.referenced_table_name,
                "referred_columns": [row.referenced_column_name for row in columns],
                "options": options,
            }

        def of(name: str, rows: list[Any]) -> Any:
            named: dict[str, list[Any]] = defaultdict(list)
            for row in rows:
                named[row.constraint_name].append(row)
            return [key(name, columns) for columns in named.values()]

        return self._each(connection, (schema, filter_names, scope, kind), rows, list, of)

    def get_multi_indexes(
        self,
        connection: Any,
        schema: str | None = None,
        filter_names: Collection[str] | None = None,
        scope: ObjectScope = ObjectScope.ANY,
        kind: ObjectKind = ObjectKind.ANY,
        **kw: Any,
    ) -> Iterable[tuple[Key, Any]]:
        """Indexes, but for the primary key."""
        query = f"""select table_catalog, table_name, index_name, column_name, non_unique, index_type from information_schema.statistics
            where {_HERE} and index_name <> 'PRIMARY' order by table_name, index_name, seq_in_index"""

        columns_of = f"select table_catalog, table_name, column_name from information_schema.columns where {_HERE}"
        known = {tuple(row) for row in self._rows_of(connection, columns_of, schema)}

        def index(columns: list[Any]) -> dict[str, Any]:
            first = columns[0]
            # What is no column is an expression, in parentheses.
            names = [row.column_name if (row.table_catalog, row.table_name, row.column_name) in known else None for row in columns]
            index = {"name": first.index_name, "column_names": names, "unique": not first.non_unique}
            if None in names:
                index["expressions"] = [name or row.column_name[1:-1] for name, row in zip(names, columns, strict=True)]
            index["dialect_options"] = {} if first.index_type == "ordered" else {"ambo_using": first.index_type}
            return index

        def of(_name: str, rows: list[Any]) -> Any:
            named: dict[str, list[Any]] = defaultdict(list)
            for row in rows:
                named[row.index_name].append(row)
            return [index(columns) for columns in named.values()]

        rows = self._rows_of(connection, query, schema)
        return self._each(connection, (schema, filter_names, scope, kind), rows, list, of)

    def get_multi_table_comment(
        self,
        connection: Any,
        schema: str | None = None,
        filter_names: Collection[str] | None = None,
        scope: ObjectScope = ObjectScope.ANY,
        kind: ObjectKind = ObjectKind.ANY,
        **kw: Any,
    ) -> Iterable[tuple[Key, Any]]:
        """Comments of tables and views."""
        found = self._objects(connection, schema, filter_names, scope, kind)
        return [((schema, name), {"text": row.table_comment}) for name, row in found.items()]

    def get_multi_table_options(
        self,
        connection: Any,
        schema: str | None = None,
        filter_names: Collection[str] | None = None,
        scope: ObjectScope = ObjectScope.ANY,
        kind: ObjectKind = ObjectKind.ANY,
        **kw: Any,
    ) -> Iterable[tuple[Key, Any]]:
        """The storage of tables that are in another than the default one."""
        found = self._objects(connection, schema, filter_names, scope, kind)
        is_default = ("column", None)
        return [
            ((schema, name), {} if row.storage in is_default else {"ambo_storage": row.storage}) for name, row in found.items()
        ]

    # The same of one table.

    def _one(self, all_of: Callable[..., Any], connection: Any, name: str, schema: str | None, **kw: Any) -> Any:
        found = dict(all_of(connection, schema=schema, filter_names=[name], **kw))
        if (schema, name) not in found:
            raise exc.NoSuchTableError(f"{schema}.{name}" if schema else name)
        return found[(schema, name)]

    @reflection.cache
    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Columns of a table."""
        return self._one(self.get_multi_columns, connection, table_name, schema)

    @reflection.cache
    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """The primary key of a table."""
        return self._one(self.get_multi_pk_constraint, connection, table_name, schema)

    @reflection.cache
    def get_foreign_keys(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Foreign keys of a table."""
        return self._one(self.get_multi_foreign_keys, connection, table_name, schema)

    @reflection.cache
    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Indexes of a table."""
        return self._one(self.get_multi_indexes, connection, table_name, schema)

    @reflection.cache
    def get_unique_constraints(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Unique constraints of a table."""
        return self._one(self.get_multi_unique_constraints, connection, table_name, schema)

    @reflection.cache
    def get_check_constraints(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Checks of a table."""
        return self._one(self.get_multi_check_constraints, connection, table_name, schema)

    @reflection.cache
    def get_table_comment(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """The comment of a table."""
        return self._one(self.get_multi_table_comment, connection, table_name, schema)

    @reflection.cache
    def get_table_options(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Options of a table."""
        return self._one(self.get_multi_table_options, connection, table_name, schema)
