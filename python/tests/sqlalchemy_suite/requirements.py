"""What SQLAlchemy's tests may ask of Ambo. Those of `CLOSED` are left out, each for the reason that stands there."""

from __future__ import annotations

from typing import Any

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

#: What not every database has, and Ambo has.
OPEN = """
    aggregate_order_by array_type autocommit boolean_col_expressions check_constraint_reflection comment_reflection
    comment_reflection_full_unicode computed_columns computed_columns_default_persisted computed_columns_reflect_persisted computed_columns_stored
    create_or_replace_view create_table_as cross_schema_fk_reflection ctes ctes_on_dml ctes_with_update_delete ctes_with_values
    date_historic datetime_historic datetime_interval datetime_literals datetime_timezone datetime_timezone_historic deferrable_fks
    delete_from except_ fetch_expression fetch_first fetch_no_order_by
    fk_constraint_option_reflection_ondelete_noaction foreign_key_constraint_name_reflection
    foreign_key_constraint_option_reflection_ondelete foreign_key_constraint_option_reflection_onupdate index_ddl_if_exists
    infinity_floats inline_check_constraint_reflection intersect isolation_level json_type mod_operator_as_percent_sign nullsordering
    order_by_label_with_expression precision_numerics_enotation_small precision_numerics_retains_significant_digits
    reflect_table_options regexp_match regexp_replace savepoints schema_create_delete schemas server_defaults
    supports_bitwise_and supports_bitwise_not supports_bitwise_or supports_bitwise_shift supports_bitwise_xor supports_distinct_on
    table_ddl_if_exists table_value_constructor timestamp_microseconds tuple_in unicode_ddl
    unique_constraints_reflect_as_index unique_index_reflect_as_unique_constraints update_from uuid_data_type views
    window_functions window_range_non_numeric
    create_temp_table_as fetch_ties fetch_offset_with_options has_temp_table indexes_with_expressions reflect_indexes_with_expressions
    temp_table_comment_reflection temp_table_reflection temp_table_names temporary_tables temporary_views
""".split()

#: What Ambo has not.
CLOSED = {
    "column_collation_reflection": "information_schema has no collations of columns",
    "async_dialect": "the dialect is for threads",
    "computed_columns_virtual": "all generated columns are stored",
    "constraint_comment_reflection": "constraints have no comments",
    "default_schema_name_switch": "a session has no schema of its own",
    "denormalized_names": "names are in small letters",
    "emulated_lastrowid": "numbers come by RETURNING",
    "emulated_lastrowid_even_with_sequences": "numbers come by RETURNING",
    "dbapi_lastrowid": "numbers come by RETURNING",
    "expression_server_defaults": "constants are computed when the table is made",
    "fetch_percent": "there is no FETCH … PERCENT",
    "fk_constraint_option_reflection_ondelete_restrict": "RESTRICT is NO ACTION",
    "fk_constraint_option_reflection_onupdate_restrict": "RESTRICT is NO ACTION",
    "foreign_keys_reflect_as_index": "a foreign key is no index",
    "identity_columns": "identities have no options; they are AUTO_INCREMENT",
    "identity_columns_standard": "identities have no options; they are AUTO_INCREMENT",
    "implements_get_lastrowid": "numbers come by RETURNING",
    "implicit_default_schema": "the default schema is main, and is found by that name only",
    "index_reflects_included_columns": "indexes have no more columns than those that they are over",
    "indexes_check_column_order": "the order of columns is no part of what is compared",
    "indexes_with_ascdesc": "indexes are read in both directions, and keep no DESC",
    "json_deserializer_binary": "JSON is text",
    "legacy_unconditional_json_extract": "JSON of a wrong type is an error",
    "literal_float_coercion": "a text parameter is no number",
    "materialized_views": "there are no materialized views",
    "materialized_views_reflect_pk": "there are no materialized views",
    "non_updating_cascade": "ON UPDATE does what it says",
    "nvarchar_types": "there is one type of texts",
    "percent_schema_names": "the tests' tables have names that are quoted for drivers with other parameters",
    "reflect_indexes_with_ascdesc": "indexes are read in both directions, and keep no DESC",
    "reflect_indexes_with_ascdesc_as_expression": "indexes are read in both directions, and keep no DESC",
    "reflect_tables_no_columns": "a table has a column",
    "reflects_pk_names": "primary keys are named for their tables",
    "repeated_column_foreign_keys": "a column stands in a foreign key once",
    "repeated_remote_col_foreign_keys": "a column is referred to once by a foreign key",
    "server_side_cursors": "all results are streams, without a cursor of the server",
    "skip_autocommit_rollback": "a rollback without a transaction costs nothing",
    "time_timezone": "times of day have no time zone",
    "two_phase_transactions": "there is no PREPARE TRANSACTION",
    "window_range": "the tests want rows in an order, and ask for none",
    "window_range_numeric": "the tests want rows in an order, and ask for none",
    "unusual_column_name_characters": "the tests' names have control characters",
}


class Requirements(SuiteRequirements):
    """What is asked for by name."""

    def get_order_by_collation(self, config: Any) -> str:
        """A collation that there is."""
        return "nocase"


def _opened(_: Requirements) -> exclusions.compound:
    return exclusions.open()


def _closed(reason: str) -> property:
    return property(lambda _: exclusions.skip_if(exclusions.BooleanPredicate(True, reason)))


for _name in OPEN:
    setattr(Requirements, _name, property(_opened))
for _name, _reason in CLOSED.items():
    setattr(Requirements, _name, _closed(_reason))
