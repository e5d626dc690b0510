"""What SQLAlchemy's tests find in a database before they begin."""

from __future__ import annotations

from typing import Any

from sqlalchemy.testing.provision import post_configure_engine, temp_table_keyword_args, upsert


@post_configure_engine.for_db("ambo")
def _schemas(url: Any, engine: Any, follower_ident: Any) -> None:
    with engine.begin() as connection:
        for schema in ("test_schema", "test_schema_2"):
            connection.exec_driver_sql(f"create schema if not exists {schema}")


@temp_table_keyword_args.for_db("ambo")
def _temporary(cfg: Any, eng: Any) -> dict[str, Any]:
    return {"prefixes": ["TEMPORARY"]}


@upsert.for_db("ambo")
def _upsert(
    cfg: Any, table: Any, returning: Any, *, set_lambda: Any = None, sort_by_parameter_order: bool = False, index_elements: Any = None
) -> Any:
    from ambo_sqlalchemy import insert

    stmt = insert(table)
    keys = index_elements or table.primary_key
    if set_lambda:
        stmt = stmt.on_conflict_do_update(index_elements=keys, set_=set_lambda(stmt.excluded))
    else:
        stmt = stmt.on_conflict_do_nothing()
    return stmt.returning(*returning, sort_by_parameter_order=sort_by_parameter_order)


