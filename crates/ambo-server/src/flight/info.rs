//! What the server says of itself, as drivers ask for it.

use std::sync::LazyLock;

use arrow_flight::sql::{
    Nullable, Searchable, SqlInfo, SqlSupportedTransaction, SupportedSqlGrammar, XdbcDataType,
    metadata::{SqlInfoData, SqlInfoDataBuilder, XdbcTypeInfo, XdbcTypeInfoData, XdbcTypeInfoDataBuilder},
};

/// What is said.
pub(super) static INFO: LazyLock<Option<SqlInfoData>> = LazyLock::new(|| {
    let mut of = SqlInfoDataBuilder::new();
    of.append(SqlInfo::FlightSqlServerName, "Ambo");
    of.append(SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    of.append(SqlInfo::FlightSqlServerArrowVersion, "1.3");
    of.append(SqlInfo::FlightSqlServerReadOnly, false);
    of.append(SqlInfo::FlightSqlServerSql, true);
    of.append(SqlInfo::FlightSqlServerSubstrait, false);
    of.append(SqlInfo::FlightSqlServerTransaction, SqlSupportedTransaction::Savepoint as i32);
    of.append(SqlInfo::FlightSqlServerCancel, true);
    of.append(SqlInfo::FlightSqlServerBulkIngestion, true);
    of.append(SqlInfo::FlightSqlServerIngestTransactionsSupported, true);
    of.append(SqlInfo::FlightSqlServerStatementTimeout, 0i32);
    of.append(SqlInfo::FlightSqlServerTransactionTimeout, 60_000i32);
    of.append(SqlInfo::SqlDdlCatalog, false);
    of.append(SqlInfo::SqlDdlSchema, true);
    of.append(SqlInfo::SqlDdlTable, true);
    of.append(SqlInfo::SqlIdentifierCase, 2i32);
    of.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
    of.append(SqlInfo::SqlQuotedIdentifierCase, 3i32);
    of.append(SqlInfo::SqlAllTablesAreSelectable, true);
    of.append(SqlInfo::SqlSupportsColumnAliasing, true);
    of.append(SqlInfo::SqlNullPlusNullIsNull, true);
    of.append(SqlInfo::SqlSupportedGrammar, SupportedSqlGrammar::SqlCoreGrammar as i32);
    of.append(SqlInfo::SqlCorrelatedSubqueriesSupported, true);
    of.append(SqlInfo::SqlTransactionsSupported, true);
    of.append(SqlInfo::SqlDataDefinitionCausesTransactionCommit, false);
    of.append(SqlInfo::SqlDataDefinitionsInTransactionsIgnored, false);
    of.append(SqlInfo::SqlBatchUpdatesSupported, true);
    of.append(SqlInfo::SqlSavepointsSupported, true);
    of.build().ok()
});

/// The types of columns.
pub(super) static TYPES: LazyLock<Option<XdbcTypeInfoData>> = LazyLock::new(|| {
    let types = [
        ("boolean", XdbcDataType::XdbcBit, 1),
        ("tinyint", XdbcDataType::XdbcTinyint, 3),
        ("smallint", XdbcDataType::XdbcSmallint, 5),
        ("integer", XdbcDataType::XdbcInteger, 10),
        ("bigint", XdbcDataType::XdbcBigint, 19),
        ("real", XdbcDataType::XdbcReal, 7),
        ("double", XdbcDataType::XdbcDouble, 15),
        ("decimal", XdbcDataType::XdbcDecimal, 38),
        ("text", XdbcDataType::XdbcVarchar, i32::MAX),
        ("blob", XdbcDataType::XdbcVarbinary, i32::MAX),
        ("date", XdbcDataType::XdbcDate, 10),
        ("time", XdbcDataType::XdbcTime, 15),
        ("timestamp", XdbcDataType::XdbcTimestamp, 26),
    ];
    let mut of = XdbcTypeInfoDataBuilder::new();
    for (name, data_type, size) in types {
        of.append(XdbcTypeInfo {
            type_name: name.to_owned(),
            data_type,
            column_size: Some(size),
            nullable: Nullable::NullabilityNullable,
            case_sensitive: name == "text",
            searchable: Searchable::Full,
            sql_data_type: data_type,
            ..XdbcTypeInfo::default()
        });
    }
    of.build().ok()
});
