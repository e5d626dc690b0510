"""The dialect beside SQLAlchemy's own tests, which `sqlalchemy_suite` runs: engines, pandas, Alembic."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations

import ambo
from ambo_sqlalchemy import AmboDialect, insert


@pytest.fixture
def engine() -> Iterator[sa.Engine]:
    engine = sa.create_engine("ambo://")
    yield engine
    engine.dispose()


def test_connections_of_an_engine_share_its_memory_and_no_other_does(engine: sa.Engine) -> None:
    with engine.begin() as one, engine.connect() as other:
        one.exec_driver_sql("create table t (a int)")
        one.commit() if not one.in_transaction() else None
        assert not sa.inspect(other).has_table("t")
    assert sa.inspect(engine).has_table("t")
    assert not sa.inspect(sa.create_engine("ambo://")).has_table("t")


def test_a_path_with_options(tmp_path: Path) -> None:
    engine = sa.create_engine(f"ambo:///{tmp_path}/db?sync=off&cache_bytes=64MiB")
    with engine.begin() as connection:
        connection.exec_driver_sql("create table t (a int)")
    engine.dispose()
    with sa.create_engine(f"ambo:///{tmp_path}/db?read_only=true").connect() as connection:
        assert sa.inspect(connection).get_table_names() == ["t"]
        with pytest.raises(sa.exc.DBAPIError, match="read only"):
            connection.exec_driver_sql("insert into t values (1)")


def test_a_transaction_begins_with_its_first_statement(engine: sa.Engine) -> None:
    with engine.begin() as late, engine.begin() as other:
        other.exec_driver_sql("create table t (a int)")
        other.commit()
        late.exec_driver_sql("insert into t values (1)")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("select * from t").all() == [(1,)]
        connection.rollback()
        with pytest.raises(ZeroDivisionError), connection.begin():
            connection.exec_driver_sql("delete from t")
            raise ZeroDivisionError
        assert connection.exec_driver_sql("select count(*) from t").scalar() == 1


def test_levels_of_isolation(engine: sa.Engine) -> None:
    levels = engine.dialect.get_isolation_level_values(None)
    assert set(levels) == {"AUTOCOMMIT", "READ COMMITTED", "REPEATABLE READ", "SNAPSHOT", "SERIALIZABLE"}
    with engine.begin() as connection:
        connection.exec_driver_sql("create table t (a int)")
    for level, seen in {"READ COMMITTED": 1, "REPEATABLE READ": 0, "SERIALIZABLE": 0, "AUTOCOMMIT": 1}.items():
        with engine.connect().execution_options(isolation_level=level) as connection, engine.begin() as other:
            assert connection.exec_driver_sql("select count(*) from t").scalar() == 0
            other.exec_driver_sql("insert into t values (1)")
            other.commit()
            assert connection.exec_driver_sql("select count(*) from t").scalar() == seen, level
            connection.rollback()
            connection.exec_driver_sql("delete from t")
            connection.commit()


def test_values_come_back_as_they_were(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    kinds: dict[str, tuple[Any, Any]] = {
        "number": (sa.Numeric(12, 2), decimal.Decimal("1.25")),
        "moment": (sa.DateTime(timezone=True), datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)),
        "time": (sa.DateTime, datetime.datetime(2026, 1, 2, 3, 4, 5, 6)),
        "span": (sa.Interval, datetime.timedelta(days=2, microseconds=3)),
        "id": (sa.Uuid, uuid.UUID(int=7)),
        "json": (sa.JSON, {"a": [1, {"b": None}]}),
        "list": (sa.ARRAY(sa.Integer), [1, 2, None]),
        "label": (sa.Enum("low", "high", name="level"), "high"),
        "bytes": (sa.LargeBinary, b"\x00\xff"),
        "truth": (sa.Boolean, True),
    }
    table = sa.Table("t", metadata, *(sa.Column(name, kind) for name, (kind, _) in kinds.items()))
    metadata.create_all(engine)
    values = {name: value for name, (_, value) in kinds.items()}
    with engine.begin() as connection:
        connection.execute(table.insert(), [values, {name: None for name in kinds}])
        rows = connection.execute(sa.select(table).order_by(table.c.id.nulls_last())).mappings().all()
    assert rows == [values, {name: None for name in kinds}]
    reflected = sa.Table("t", sa.MetaData(), autoload_with=engine)
    with engine.connect() as connection:
        assert connection.execute(sa.select(reflected).where(reflected.c.json["a"][0].as_integer() == 1)).mappings().all() == [values]
        # JSON that is no SQL NULL is read, too.
        assert connection.execute(sa.select(reflected.c.json["a"][1]["b"])).scalars().first() is None


def test_on_conflict_and_returning(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    table = sa.Table("t", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("n", sa.Integer))
    metadata.create_all(engine)
    with engine.begin() as connection:
        rows = [{"n": n} for n in range(3000)]
        made = connection.execute(table.insert().returning(table.c.id, table.c.n, sort_by_parameter_order=True), rows).all()
        assert [row.n for row in made] == list(range(3000))
        upsert = insert(table).values(id=made[0].id, n=5)
        upsert = upsert.on_conflict_do_update(index_elements=["id"], set_={"n": upsert.excluded.n + 1})
        assert connection.execute(upsert.returning(table.c.n)).scalar() == 6
        assert connection.execute(insert(table).values(id=made[0].id).on_conflict_do_nothing()).rowcount == 0


def test_results_are_read_as_they_come(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("select * from range(1000000000) as t (n)")
        assert next(rows.partitions(1000))[-1] == (999,)
        rows.close()


def test_a_connection_that_is_closed_is_thrown_away(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        connection.connection.dbapi_connection.close()  # type: ignore[union-attr]
        with pytest.raises(sa.exc.DBAPIError) as error:
            connection.exec_driver_sql("select 1")
        assert error.value.connection_invalidated


def test_storages_sort_keys_and_kinds_of_indexes(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    table = sa.Table("t", metadata, sa.Column("a", sa.Integer, nullable=False), ambo_storage="column", ambo_sort_key="a")
    other = sa.Table("o", metadata, sa.Column("a", sa.Integer), ambo_storage="btree")
    sa.Index("by_hash", other.c.a, ambo_using="hash")
    metadata.create_all(engine)
    inspector = sa.inspect(engine)
    assert inspector.get_table_options("o") == {"ambo_storage": "btree"}
    assert inspector.get_indexes("o")[0]["dialect_options"] == {"ambo_using": "hash"}
    with engine.connect() as connection:
        assert "SORT KEY (a)" in connection.exec_driver_sql("show create table t").all()[0][-1]
    assert table.dialect_options["ambo"]["sort_key"] == "a"


def test_what_there_is_not_is_said() -> None:
    dialect = AmboDialect()
    t = sa.Table(
        "t", sa.MetaData(), sa.Column("a", sa.Integer, sa.Identity(start=5), primary_key=True), sa.Column("b", sa.Time(timezone=True))
    )
    with pytest.raises(sa.exc.CompileError, match=r"no options \(start\); use a Sequence"):
        sa.schema.CreateTable(t).compile(dialect=dialect)
    with pytest.raises(sa.exc.CompileError, match="PERCENT"):
        sa.select(t.c.a).fetch(10, percent=True).compile(dialect=dialect)


def test_collations_ties_temporary_tables_and_expressions_of_indexes(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    people = sa.Table(
        "people", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.String(20, collation="nocase.noaccent"), unique=True)
    )
    sa.Index("by_length", sa.func.length(people.c.name), people.c.id)
    seen = sa.Table("seen", sa.MetaData(), sa.Column("id", sa.Integer), prefixes=["TEMPORARY"])
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(people.insert(), [{"name": "Ada"}, {"name": "\u00c9mile"}, {"name": "Bob"}])
        assert connection.scalar(sa.select(people.c.id).where(people.c.name == "EMILE")) == 2
        ties = sa.select(people.c.name).order_by(sa.func.length(people.c.name)).fetch(1, with_ties=True)
        assert sorted(connection.scalars(ties)) == ["Ada", "Bob"]
        assert list(connection.scalars(ties.offset(1))) == ["Bob"] or list(connection.scalars(ties.offset(1))) == ["Ada"]
        seen.create(connection)
        inspector = sa.inspect(connection)
        assert inspector.get_temp_table_names() == ["seen"] and inspector.get_table_names() == ["people"]
        assert [column["name"] for column in inspector.get_columns("seen")] == ["id"]
        with pytest.raises(sa.exc.NoSuchTableError):
            inspector.get_columns("seen", schema="main")
        index = {index["name"]: index for index in inspector.get_indexes("people")}["by_length"]
        assert index["column_names"] == [None, "id"] and index["expressions"] == ["length(name)", "id"]
    with pytest.raises(sa.exc.IntegrityError), engine.begin() as connection:
        connection.execute(people.insert(), {"name": "ADA"})


def test_frames_of_pandas_go_in_and_come_back(engine: sa.Engine) -> None:
    frame = pandas.DataFrame({"id": [1, 2], "name": ["Bergen", None], "at": pandas.to_datetime(["2026-01-01", "2026-01-02"])})
    frame.to_sql("towns", engine, index=False)
    assert pandas.read_sql("towns", engine)["name"].isna().tolist() == [False, True]
    frame.to_sql("towns", engine, index=False, if_exists="append", method="multi")
    back = pandas.read_sql(sa.text("select id, at from towns where id > :id"), engine, params={"id": 1})
    assert back["id"].tolist() == [2, 2]
    assert back["at"].tolist() == [pandas.Timestamp("2026-01-02")] * 2
    frame.to_sql("towns", engine, index=False, if_exists="replace")
    assert len(pandas.read_sql_table("towns", engine)) == 2


def test_alembic_changes_tables_and_finds_no_difference_afterwards(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    sa.Table("parents", metadata, sa.Column("id", sa.Integer, primary_key=True))
    sa.Table(
        "renamed",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("label", sa.String(30), nullable=False, server_default="none"),
        sa.Column("parent", sa.Integer, sa.ForeignKey("parents.id", name="of_parent", ondelete="CASCADE"), index=True),
        sa.Column("n", sa.BigInteger, comment="how many"),
        sa.UniqueConstraint("n", name="one_n"),
        comment="changed",
    )
    with engine.begin() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "target_metadata": metadata})
        op = Operations(context)
        op.create_table("parents", sa.Column("id", sa.Integer, primary_key=True))
        op.create_table("t", sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.String(30)), sa.Column("n", sa.Integer))
        op.add_column("t", sa.Column("gone", sa.Integer))
        op.add_column("t", sa.Column("parent", sa.Integer))
        op.execute("insert into t (n, gone) values (1, 2)")
        op.drop_column("t", "gone")
        op.execute("update t set name = 'x'")
        op.alter_column("t", "name", new_column_name="label")
        op.alter_column("t", "label", nullable=False, server_default="none")
        op.alter_column("t", "n", type_=sa.BigInteger, comment="how many")
        op.rename_table("t", "renamed")
        op.create_foreign_key("of_parent", "renamed", "parents", ["parent"], ["id"], ondelete="CASCADE")
        op.create_index("ix_renamed_parent", "renamed", ["parent"])
        op.create_unique_constraint("one_n", "renamed", ["n"])
        op.create_table_comment("renamed", "changed")
        assert compare_metadata(context, metadata) == []
        op.drop_constraint("one_n", "renamed")
        assert [change[0] for change in compare_metadata(context, metadata)] == ["add_constraint"]
        assert connection.exec_driver_sql("select label, n from renamed").all() == [("x", 1)]


def test_the_version_is_known(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        version = ambo.connect().info()["version"]
        assert version == "Ambo " + ".".join(map(str, connection.dialect.server_version_info or ()))
