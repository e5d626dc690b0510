"""SQL of SQLAlchemy's constructs: that of PostgreSQL's, but for what Ambo says in its own way."""

from __future__ import annotations

from typing import Any

from sqlalchemy import exc
from sqlalchemy import types as sqltypes
from sqlalchemy.dialects.postgresql.base import RESERVED_WORDS, PGCompiler, PGIdentifierPreparer
from sqlalchemy.sql import cast, compiler


class AmboIdentifierPreparer(PGIdentifierPreparer):
    """Names: in small letters unless they stand in quotes."""

    reserved_words = frozenset(RESERVED_WORDS) | {
        "exists",
        "fulltext",
        "interval",
        "lateral",
        "recursive",
        "row",
        "spatial",
        "struct",
        "top",
        "trim",
        "unnest",
    }


class AmboCompiler(PGCompiler):
    """Queries, and statements that write rows."""

    def visit_json_path_getitem_op_binary(self, binary: Any, operator: Any, _cast_applied: bool = False, **kw: Any) -> str:
        """A path is what `->` takes, too."""
        return self.visit_json_getitem_op_binary(binary, operator, _cast_applied=_cast_applied, **kw)

    def visit_json_getitem_op_binary(self, binary: Any, operator: Any, _cast_applied: bool = False, **kw: Any) -> str:
        """`->` is JSON, `->>` a text, which is cast to what is wanted."""
        if not _cast_applied and binary.type._type_affinity is not sqltypes.JSON:
            return self.process(cast(binary, binary.type), _cast_applied=True, **kw)
        kw["eager_grouping"] = True
        return self._generate_generic_binary(binary, " ->> " if _cast_applied else " -> ", **kw)

    def visit_frame_clause(self, frameclause: Any, **kw: Any) -> str:
        """Bounds of a window are constants: their values are written out when the statement is run."""
        kw.update(literal_execute=True, skip_bind_expression=True)
        return super().visit_frame_clause(frameclause, **kw)

    def visit_truediv_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """`/` of integers is an integer: what may be one becomes a double."""
        known = {side.type._type_affinity for side in (binary.left, binary.right)}
        right = binary.right if known & {sqltypes.Numeric, sqltypes.Float} else cast(binary.right, sqltypes.Double())
        return f"{self.process(binary.left, **kw)} / {self.process(right, **kw)}"

    def visit_bitwise_xor_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """`xor(a, b)`: `#` is none of its operators."""
        return f"xor({self.process(binary.left, **kw)}, {self.process(binary.right, **kw)})"

    def visit_substring_func(self, func: Any, **kw: Any) -> str:
        """`substring(text, 2, 3)`."""
        return f"substring{self.function_argspec(func, **kw)}"

    def limit_clause(self, select: Any, **kw: Any) -> str:
        """LIMIT and OFFSET."""
        text = ""
        if select._limit_clause is not None:
            text += " \n LIMIT " + self.process(select._limit_clause, **kw)
        if select._offset_clause is not None:
            text += " \n OFFSET " + self.process(select._offset_clause, **kw)
        return text

    def fetch_clause(self, select: Any, **kw: Any) -> str:
        """FETCH FIRST n ROWS ONLY, which is LIMIT; or WITH TIES."""
        options = select._fetch_clause_options
        if options["percent"]:
            raise exc.CompileError("Ambo knows no FETCH … PERCENT")
        count = self.process(select._fetch_clause, **kw)
        offset = None if select._offset_clause is None else self.process(select._offset_clause, **kw)
        if options["with_ties"]:
            before = "" if offset is None else f"\n OFFSET {offset} ROWS"
            return f"{before}\n FETCH FIRST {count} ROWS WITH TIES"
        return f"\n LIMIT {count}" + ("" if offset is None else f" OFFSET {offset}")


class AmboDDLCompiler(compiler.DDLCompiler):
    """Definitions."""

    def get_column_specification(self, column: Any, **kwargs: Any) -> str:
        """A column; numbers by AUTO_INCREMENT."""
        types = self.dialect.type_compiler_instance
        text = self.preparer.format_column(column) + " " + types.process(column.type, type_expression=column)
        default = self.get_column_default_string(column)
        if default is not None:
            text += " DEFAULT " + default
        if column.computed is not None:
            text += " " + self.process(column.computed)
        if self._numbers_itself(column):
            text += " AUTO_INCREMENT"
        if not column.nullable:
            text += " NOT NULL"
        return text

    def _numbers_itself(self, column: Any) -> bool:
        is_key = column.primary_key and column is column.table._autoincrement_column
        if column.identity is not None:
            if not is_key or len(column.table.primary_key) != 1:
                raise exc.CompileError(f"column {column}: only a primary key of one column can be an identity; use a Sequence")
            given = {name for name in _IDENTITY_OPTIONS if getattr(column.identity, name) is not None}
            if column.identity.always:
                given.add("always")
            if given:
                raise exc.CompileError(f"column {column}: identities have no options ({', '.join(sorted(given))}); use a Sequence")
            return True
        impl = column.type.dialect_impl(self.dialect)
        if isinstance(impl, sqltypes.TypeDecorator):
            impl = impl.impl_instance
        is_sequence = column.default is not None and not (column.default.is_sequence and column.default.optional)
        return is_key and not isinstance(impl, sqltypes.SmallInteger) and not is_sequence and column.server_default is None

    def post_create_table(self, table: Any) -> str:
        """`ambo_storage`, `ambo_sort_key`."""
        options = table.dialect_options["ambo"]
        text = ""
        if options["storage"] is not None:
            text += " STORAGE = " + self.preparer.quote(options["storage"])
        if options["sort_key"] is not None:
            keys = options["sort_key"]
            names = [keys] if isinstance(keys, str) else keys
            text += f" SORT KEY ({', '.join(self.preparer.quote(name) for name in names)})"
        return text

    def visit_create_index(
        self, create: Any, include_schema: bool = False, include_table_schema: bool = True, **kw: Any
    ) -> str:
        """An index, with `ambo_using`."""
        text = super().visit_create_index(create, include_schema, include_table_schema, **kw)
        using = create.element.dialect_options["ambo"]["using"]
        if using is None:
            return text
        before, columns = text.split(" (", 1)
        return f"{before} USING {self.preparer.quote(using)} ({columns}"

    def visit_drop_index(self, drop: Any, **kw: Any) -> str:
        """An index is in the schema of its table."""
        text = "\nDROP INDEX " + ("IF EXISTS " if drop.if_exists else "")
        return text + self._prepared_index_name(drop.element, include_schema=True)

    def visit_create_sequence(self, create: Any, **kw: Any) -> str:
        """A sequence, with the type that bounds it."""
        kind = create.element.data_type
        prefix = None if kind is None else " AS " + self.type_compiler.process(kind)
        return super().visit_create_sequence(create, prefix=prefix, **kw)

    def visit_drop_column_comment(self, drop: Any, **kw: Any) -> str:
        """With the schema of the table."""
        column = self.preparer.format_column(drop.element, use_table=True, use_schema=True)
        return f"COMMENT ON COLUMN {column} IS NULL"


_IDENTITY_OPTIONS = ("start", "increment", "minvalue", "maxvalue", "nominvalue", "nomaxvalue", "cycle", "cache")


class AmboTypeCompiler(compiler.GenericTypeCompiler):
    """Types."""

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:
        """Of 32 bits if no more than 24 bits of precision are wanted."""
        return "REAL" if type_.precision is not None and type_.precision <= 24 else "DOUBLE"

    def visit_DOUBLE(self, type_: Any, **kw: Any) -> str:
        """64 bits."""
        return "DOUBLE"

    visit_DOUBLE_PRECISION = visit_DOUBLE
    visit_double = visit_DOUBLE

    def visit_DATETIME(self, type_: Any, **kw: Any) -> str:
        """A time, or a moment if it has a zone."""
        return "TIMESTAMP WITH TIME ZONE" if type_.timezone else "TIMESTAMP"

    visit_TIMESTAMP = visit_DATETIME
    visit_datetime = visit_DATETIME

    def visit_TIME(self, type_: Any, **kw: Any) -> str:
        """A time of day."""
        if type_.timezone:
            raise exc.CompileError("Ambo has no times of day with a time zone")
        return "TIME"

    def visit_INTERVAL(self, type_: Any, **kw: Any) -> str:
        """A length of time."""
        return "INTERVAL"

    def visit_large_binary(self, type_: Any, **kw: Any) -> str:
        """Bytes."""
        return "BLOB"

    def visit_BYTEA(self, type_: Any, **kw: Any) -> str:
        """Bytes."""
        return "BLOB"

    def visit_VARBINARY(self, type_: Any, **kw: Any) -> str:
        """Bytes, whose length is not bounded."""
        return "BLOB"

    def visit_JSON(self, type_: Any, **kw: Any) -> str:
        """JSON is text."""
        return "JSON"

    visit_JSONB = visit_JSON

    def visit_uuid(self, type_: Any, **kw: Any) -> str:
        """A UUID, unless texts are wanted."""
        return "UUID" if type_.native_uuid else super().visit_uuid(type_, **kw)

    def visit_UUID(self, type_: Any, **kw: Any) -> str:
        """A UUID."""
        return "UUID"

    def visit_enum(self, type_: Any, **kw: Any) -> str:
        """An enum without a name, unless texts are wanted."""
        return self.visit_ENUM(type_, **kw) if type_.native_enum else super().visit_enum(type_, **kw)

    def visit_ENUM(self, type_: Any, **kw: Any) -> str:
        """Its labels."""
        labels = ", ".join("'" + label.replace("'", "''") + "'" for label in type_.enums)
        return f"ENUM ({labels})"

    def visit_ARRAY(self, type_: Any, **kw: Any) -> str:
        """Lists."""
        return self.process(type_.item_type, **kw) + "[]" * (type_.dimensions or 1)

    def visit_STRUCT(self, type_: Any, **kw: Any) -> str:
        """As it is written in SQL."""
        return type_.text

    def _render_string_type(self, name: str, length: Any = None, collation: Any = None, *more: Any, **kw: Any) -> str:
        text = f"{name}({length})" if length else name
        if not collation:
            return text
        # Several stand with points between: nocase.noaccent.
        quote = self.dialect.identifier_preparer.quote
        return f"{text} COLLATE {'.'.join(quote(part) for part in collation.split('.'))}"
