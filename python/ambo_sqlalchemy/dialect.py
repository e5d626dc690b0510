"""The dialect: how SQLAlchemy connects, begins and ends transactions, and what it may ask for."""

from __future__ import annotations

import itertools
from types import ModuleType
from typing import Any

from sqlalchemy import pool, schema, types, util
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import default
from sqlalchemy.engine.interfaces import ConnectArgsType
from sqlalchemy.engine.url import URL
from sqlalchemy.sql.compiler import InsertmanyvaluesSentinelOpts

from .compilers import AmboCompiler, AmboDDLCompiler, AmboIdentifierPreparer, AmboTypeCompiler
from .reflection import MAIN, Reflection
from .types import INTERVAL, JSON_INDEX, JSON_PATH, named_types

#: Databases in memory have a name of their engine, so that its connections share one.
_numbers = itertools.count(1)

_TRUTHS = ("read_only", "create", "scan_frames", "progress")

AUTOCOMMIT = "AUTOCOMMIT"
#: What `BEGIN ISOLATION LEVEL` takes.
_LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SNAPSHOT", "SERIALIZABLE")
_DEFAULT_LEVEL = "REPEATABLE READ"


def _bare(connection: Any) -> Any:
    """The connection of the driver, which SQLAlchemy may have wrapped."""
    return getattr(connection, "dbapi_connection", connection)


class AmboExecutionContext(default.DefaultExecutionContext):
    """A statement that runs."""

    def fire_sequence(self, seq: Any, type_: Any) -> Any:
        """The next number of a sequence, for a value that SQLAlchemy wants to know before."""
        name = self.identifier_preparer._format_sequence_string_literal(seq)
        return self._execute_scalar(f"select nextval({name})", type_)


class AmboDialect(Reflection, default.DefaultDialect):
    """What SQLAlchemy knows of Ambo."""

    name = "ambo"
    driver = "ambo"
    default_paramstyle = "qmark"
    # Names that are made of several have at most 255 bytes.
    max_identifier_length = 63

    statement_compiler = AmboCompiler
    ddl_compiler = AmboDDLCompiler
    type_compiler_cls = AmboTypeCompiler
    preparer = AmboIdentifierPreparer
    execution_ctx_cls = AmboExecutionContext
    ischema_names = named_types
    colspecs = {
        types.Interval: INTERVAL,
        postgresql.INTERVAL: INTERVAL,
        types.JSON.JSONIndexType: JSON_INDEX,
        types.JSON.JSONPathType: JSON_PATH,
    }
    construct_arguments = [
        (schema.Table, {"storage": None, "sort_key": None}),
        (schema.Index, {"using": None}),
    ]

    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_native_enum = True
    supports_native_uuid = True
    returns_native_bytes = True
    supports_alter = True
    supports_comments = True
    supports_default_metavalue = True
    supports_default_values = True
    supports_empty_insert = False
    supports_identity_columns = True
    supports_multivalues_insert = True
    supports_sane_multi_rowcount = True
    supports_sane_rowcount = True
    supports_schemas = True
    supports_sequences = True
    supports_views = True
    # Numbers come by AUTO_INCREMENT where no sequence is asked for.
    sequences_optional = True
    postfetch_lastrowid = False
    preexecute_autoincrement_sequences = False
    div_is_floordiv = True

    insert_returning = True
    update_returning = True
    delete_returning = True
    update_returning_multifrom = True
    delete_returning_multifrom = True
    use_insertmanyvalues = True
    # Numbers are given out in the order of the rows.
    insertmanyvalues_implicit_sentinel = InsertmanyvaluesSentinelOpts.ANY_AUTOINCREMENT

    # What the compiler of PostgreSQL's asks its dialect for.
    _backslash_escapes = False
    _supports_jsonb_subscripting = False

    def __init__(self, json_serializer: Any = None, json_deserializer: Any = None, **options: Any) -> None:
        super().__init__(**options)
        self._json_serializer = json_serializer
        self._json_deserializer = json_deserializer
        self._reads_only = False
        self._memory = f":memory:sqlalchemy-{next(_numbers)}"

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """The module of PEP 249."""
        from ambo import dbapi

        return dbapi

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        """Connections of an engine share an open database, which is closed with the last of them: so some are kept."""
        return pool.QueuePool

    def create_connect_args(self, url: URL) -> ConnectArgsType:
        """`ambo:///path?cache_bytes=1GiB`: what stands behind `?` are options of `ambo.connect`."""
        options: dict[str, Any] = {name: value for name, value in url.query.items()}
        for name in _TRUTHS:
            util.coerce_kw_type(options, name, bool)
        # The caller's variables are SQLAlchemy's own.
        options.setdefault("scan_frames", False)
        self._reads_only = bool(options.get("read_only", False))
        path = url.database or ":memory:"
        return [self._memory if path == ":memory:" else path], {**options, "autocommit": True}

    def _get_server_version_info(self, connection: Any) -> tuple[int, ...]:
        version = connection.exec_driver_sql("select version()").scalar()
        return tuple(int(part) for part in version.split()[1].split("-")[0].split("."))

    def _get_default_schema_name(self, connection: Any) -> str:
        return MAIN

    # Transactions. The driver commits by itself; a transaction of SQLAlchemy's begins with its first statement, and reads what is there then.

    def do_begin(self, dbapi_connection: Any) -> None:
        """A transaction, unless the connection commits by itself."""
        _bare(dbapi_connection).sqlalchemy_begins = not self.detect_autocommit_setting(dbapi_connection)

    def do_commit(self, dbapi_connection: Any) -> None:
        """Ends the transaction."""
        _bare(dbapi_connection).sqlalchemy_begins = False
        dbapi_connection.commit()

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Gives the transaction up."""
        _bare(dbapi_connection).sqlalchemy_begins = False
        # One that was closed, as when Python ends, has given it up.
        if not dbapi_connection.closed:
            dbapi_connection.rollback()

    def _begin(self, cursor: Any) -> None:
        connection = cursor.connection
        if getattr(connection, "sqlalchemy_begins", False):
            connection.sqlalchemy_begins = False
            kind = " read only" if self._reads_only else ""
            connection.executescript(f"begin isolation level {self.get_isolation_level(connection)}{kind}")

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        """Runs a statement."""
        self._begin(cursor)
        cursor.execute(statement, parameters)

    def do_execute_no_params(self, cursor: Any, statement: str, context: Any = None) -> None:
        """Runs a statement without parameters."""
        self._begin(cursor)
        cursor.execute(statement)

    def do_executemany(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        """Runs a statement for each of many rows."""
        self._begin(cursor)
        cursor.executemany(statement, parameters)

    def get_isolation_level_values(self, dbapi_conn: Any) -> tuple[str, ...]:
        """The levels that there are."""
        return (AUTOCOMMIT, *_LEVELS)

    def get_isolation_level(self, dbapi_connection: Any) -> str:
        """The level of the next transaction."""
        return getattr(_bare(dbapi_connection), "sqlalchemy_level", _DEFAULT_LEVEL)

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        """Sets the level of the next transaction."""
        _bare(dbapi_connection).sqlalchemy_level = level

    def detect_autocommit_setting(self, dbapi_conn: Any) -> bool:
        """Whether the connection commits by itself."""
        return self.get_isolation_level(dbapi_conn) == AUTOCOMMIT

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        """Whether the connection is of no use any more."""
        return isinstance(e, self.loaded_dbapi.Error) and connection is not None and bool(connection.closed)
