//! The requests of Flight SQL.

use std::{pin::Pin, sync::Arc};

use arrow_flight::{
    Action, FlightDescriptor, FlightInfo, HandshakeRequest, HandshakeResponse, IpcMessage, SchemaAsIpc,
    Ticket,
    flight_service_server::FlightService,
    sql::{
        ActionBeginSavepointRequest, ActionBeginSavepointResult, ActionBeginTransactionRequest,
        ActionBeginTransactionResult, ActionCancelQueryRequest, ActionCancelQueryResult,
        ActionClosePreparedStatementRequest, ActionCreatePreparedStatementRequest,
        ActionCreatePreparedStatementResult, ActionEndSavepointRequest, ActionEndTransactionRequest, Any,
        Command, CommandGetCatalogs, CommandGetCrossReference, CommandGetDbSchemas, CommandGetExportedKeys,
        CommandGetImportedKeys, CommandGetPrimaryKeys, CommandGetSqlInfo, CommandGetTableTypes,
        CommandGetTables, CommandGetXdbcTypeInfo, CommandPreparedStatementQuery,
        CommandPreparedStatementUpdate, CommandStatementIngest, CommandStatementQuery,
        CommandStatementUpdate, DoPutPreparedStatementResult, EndTransaction, ProstMessageExt, SqlInfo,
        TicketStatementQuery,
        server::{FlightSqlService, PeekableFlightDataStream},
    },
};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use futures::{Stream, stream};
use prost::Message;
use tonic::{Request, Response, Status, Streaming, metadata::MetadataValue};

use super::{
    Batches, Done, Flight, client, info,
    info::{INFO, TYPES},
    ingest, one,
    state::{Bound, Statement},
    status, text, wrong,
};
use crate::http::sessions;

/// What a column is that nothing tells of.
const ANY: DataType = DataType::Utf8;

fn schema_bytes(schema: &Schema) -> Done<Bytes> {
    let options = arrow_ipc::writer::IpcWriteOptions::default();
    let IpcMessage(bytes) = SchemaAsIpc::new(schema, &options).try_into().map_err(wrong)?;
    Ok(bytes)
}

fn own(bytes: Option<&Bytes>) -> Option<Vec<u8>> {
    bytes.filter(|bytes| !bytes.is_empty()).map(|bytes| bytes.to_vec())
}

type Rows = Response<Batches>;

#[tonic::async_trait]
impl FlightSqlService for Flight {
    type FlightService = Self;

    /// The guard has let the client in: what it has shown opens what follows, too.
    async fn do_handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Done<Response<Pin<Box<dyn Stream<Item = Done<HandshakeResponse>> + Send>>>> {
        let client = client(request.extensions())?;
        let given = request.metadata().get("authorization").and_then(|value| value.to_str().ok());
        let token = self.app.logins.issue(&self.app.shared, given, &client).ok_or_else(|| {
            Status::resource_exhausted("there are as many tokens as there may be: use those that you have")
        })?;
        let answer = HandshakeResponse { protocol_version: 0, payload: token.clone().into_bytes().into() };
        let mut response: Response<Pin<Box<dyn Stream<Item = Done<HandshakeResponse>> + Send>>> =
            Response::new(Box::pin(stream::iter([Ok(answer)])));
        let bearer = MetadataValue::try_from(format!("Bearer {token}")).map_err(wrong)?;
        response.metadata_mut().insert("authorization", bearer);
        Ok(response)
    }

    async fn get_flight_info_statement(
        &self,
        query: CommandStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Done<Response<FlightInfo>> {
        let client = client(request.extensions())?;
        let transaction = own(query.transaction_id.as_ref());
        let statement = Statement { sql: query.query, transaction, bound: Bound::default() };
        self.promised(&client, statement, request.into_inner()).await.map(Response::new)
    }

    async fn get_flight_info_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Done<Response<FlightInfo>> {
        let client = client(request.extensions())?;
        let statement = self.prepared(&client, &query.prepared_statement_handle)?;
        self.promised(&client, statement, request.into_inner()).await.map(Response::new)
    }

    async fn do_get_statement(&self, ticket: TicketStatementQuery, request: Request<Ticket>) -> Done<Rows> {
        let client = client(request.extensions())?;
        let handle = ticket.statement_handle.to_vec();
        let statement = self.app.statements.take(&handle, &client.role)?;
        self.run(&client, handle, statement).await.map(Response::new)
    }

    async fn do_get_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<Ticket>,
    ) -> Done<Rows> {
        let client = client(request.extensions())?;
        let handle = query.prepared_statement_handle.to_vec();
        let statement = self.prepared(&client, &handle)?;
        self.run(&client, handle, statement).await.map(Response::new)
    }

    async fn do_put_statement_update(
        &self,
        update: CommandStatementUpdate,
        request: Request<PeekableFlightDataStream>,
    ) -> Done<i64> {
        let client = client(request.extensions())?;
        self.update(&client, update.query, update.transaction_id.as_deref(), vec![Vec::new()]).await
    }

    async fn do_put_statement_ingest(
        &self,
        command: CommandStatementIngest,
        request: Request<PeekableFlightDataStream>,
    ) -> Done<i64> {
        let client = client(request.extensions())?;
        self.ingest(&client, &command, request.into_inner()).await
    }

    async fn do_put_prepared_statement_query(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<PeekableFlightDataStream>,
    ) -> Done<DoPutPreparedStatementResult> {
        let client = client(request.extensions())?;
        let handle = query.prepared_statement_handle;
        self.app.statements.prepared(&handle, &client.role)?;
        let most = self.app.shared.options.limits.message_bytes;
        let bound = ingest::values(request.into_inner(), most).await?;
        self.app.statements.bind(&handle, &client.role, bound, most)?;
        Ok(DoPutPreparedStatementResult { prepared_statement_handle: Some(handle) })
    }

    async fn do_put_prepared_statement_update(
        &self,
        update: CommandPreparedStatementUpdate,
        request: Request<PeekableFlightDataStream>,
    ) -> Done<i64> {
        let client = client(request.extensions())?;
        let prepared = self.prepared(&client, &update.prepared_statement_handle)?;
        let most = self.app.shared.options.limits.message_bytes;
        let sent = ingest::values(request.into_inner(), most).await?;
        let bound = if sent.rows.is_empty() { prepared.bound } else { sent };
        let rows = match bound.rows.is_empty() {
            true => vec![Vec::new()],
            false => Arc::unwrap_or_clone(bound.rows),
        };
        self.update(&client, prepared.sql, prepared.transaction.as_deref(), rows).await
    }

    async fn do_action_create_prepared_statement(
        &self,
        query: ActionCreatePreparedStatementRequest,
        request: Request<Action>,
    ) -> Done<ActionCreatePreparedStatementResult> {
        let client = client(request.extensions())?;
        let session = self.session(&client, query.transaction_id.as_deref())?;
        let described = self.described(session, query.query.clone()).await?;
        let named = |(nth, ty): (usize, Option<DataType>)| {
            Field::new(format!("${}", nth + 1), ty.filter(|ty| *ty != DataType::Null).unwrap_or(ANY), true)
        };
        let parameters: Vec<_> = described.parameters.into_iter().enumerate().map(named).collect();
        let transaction = own(query.transaction_id.as_ref());
        let statement = Statement { sql: query.query, transaction, bound: Bound::default() };
        Ok(ActionCreatePreparedStatementResult {
            prepared_statement_handle: self.app.statements.prepare(statement, &client)?.into(),
            dataset_schema: described
                .schema
                .map(|schema| schema_bytes(&schema))
                .transpose()?
                .unwrap_or_default(),
            parameter_schema: schema_bytes(&Schema::new(parameters))?,
        })
    }

    async fn do_action_close_prepared_statement(
        &self,
        query: ActionClosePreparedStatementRequest,
        request: Request<Action>,
    ) -> Done<()> {
        self.app.statements.close(&query.prepared_statement_handle, &client(request.extensions())?.role);
        Ok(())
    }

    async fn do_action_begin_transaction(
        &self,
        _: ActionBeginTransactionRequest,
        request: Request<Action>,
    ) -> Done<ActionBeginTransactionResult> {
        let client = client(request.extensions())?;
        let mut session = sessions::open(&self.app, &client).map_err(status)?;
        session.alone("BEGIN").map_err(status)?;
        let id = self.app.sessions.keep_while_connected(session, &client);
        Ok(ActionBeginTransactionResult { transaction_id: id.into_bytes().into() })
    }

    async fn do_action_end_transaction(
        &self,
        query: ActionEndTransactionRequest,
        request: Request<Action>,
    ) -> Done<()> {
        let client = client(request.extensions())?;
        let id = text(&query.transaction_id)?;
        let end = match EndTransaction::try_from(query.action).map_err(wrong)? {
            EndTransaction::Commit => "COMMIT",
            EndTransaction::Rollback => "ROLLBACK",
            EndTransaction::Unspecified => return Err(wrong("a transaction ends by a commit or a rollback")),
        };
        let mut session = self.app.sessions.lock(id, &client).map_err(status)?;
        let ended = tokio::task::spawn_blocking(move || session.alone(end));
        let ended = ended.await.map_err(|error| Status::internal(error.to_string()))?;
        self.app.sessions.end(id, &client);
        ended.map_err(status)
    }

    async fn do_action_begin_savepoint(
        &self,
        query: ActionBeginSavepointRequest,
        request: Request<Action>,
    ) -> Done<ActionBeginSavepointResult> {
        let client = client(request.extensions())?;
        let mut session = self.app.sessions.lock(text(&query.transaction_id)?, &client).map_err(status)?;
        let name = quoted(&query.name);
        session.alone(&format!("SAVEPOINT {name}")).map_err(status)?;
        let id = format!("{} {}", text(&query.transaction_id)?, query.name);
        Ok(ActionBeginSavepointResult { savepoint_id: id.into_bytes().into() })
    }

    async fn do_action_end_savepoint(
        &self,
        query: ActionEndSavepointRequest,
        request: Request<Action>,
    ) -> Done<()> {
        let client = client(request.extensions())?;
        let id = text(&query.savepoint_id)?;
        let (transaction, name) = id.split_once(' ').ok_or_else(|| wrong("this is no savepoint"))?;
        let name = quoted(name);
        // As the format has it: 1 releases, 2 rolls back.
        let statement = match query.action {
            1 => format!("RELEASE SAVEPOINT {name}"),
            2 => format!("ROLLBACK TO SAVEPOINT {name}"),
            _ => return Err(wrong("a savepoint ends by a release or a rollback")),
        };
        let mut session = self.app.sessions.lock(transaction, &client).map_err(status)?;
        session.alone(&statement).map_err(status)
    }

    async fn do_action_cancel_query(
        &self,
        query: ActionCancelQueryRequest,
        request: Request<Action>,
    ) -> Done<ActionCancelQueryResult> {
        let client = client(request.extensions())?;
        let info = FlightInfo::decode(query.info).map_err(wrong)?;
        // As the format has it: 1 is ended, 3 cannot be ended.
        let result = if self.cancel(&info, &client.role) { 1 } else { 3 };
        Ok(ActionCancelQueryResult { result })
    }

    async fn do_action_fallback(
        &self,
        request: Request<Action>,
    ) -> Done<Response<<Self as FlightService>::DoActionStream>> {
        let client = client(request.extensions())?;
        let action = request.into_inner();
        if action.r#type != "CancelFlightInfo" {
            return Err(wrong(format!("there is no action {:?}", action.r#type)));
        }
        let asked = arrow_flight::CancelFlightInfoRequest::decode(action.body).map_err(wrong)?;
        let is_ended = asked.info.is_some_and(|info| self.cancel(&info, &client.role));
        let result = arrow_flight::CancelFlightInfoResult { status: if is_ended { 1 } else { 3 } };
        let body = result.encode_to_vec().into();
        Ok(Response::new(Box::pin(stream::iter([Ok(arrow_flight::Result { body })]))))
    }

    async fn get_flight_info_catalogs(
        &self,
        command: CommandGetCatalogs,
        request: Request<FlightDescriptor>,
    ) -> Done<Response<FlightInfo>> {
        self.told(Command::CommandGetCatalogs(command), request).await
    }

    async fn do_get_catalogs(&self, command: CommandGetCatalogs, request: Request<Ticket>) -> Done<Rows> {
        self.rows(Command::CommandGetCatalogs(command), request).await
    }

    async fn get_flight_info_schemas(
        &self,
        command: CommandGetDbSchemas,
        request: Request<FlightDescriptor>,
    ) -> Done<Response<FlightInfo>> {
        self.told(Command::CommandGetDbSchemas(command), request).await
    }

    async fn do_get_schemas(&self, command: CommandGetDbSchemas, request: Request<Ticket>) -> Done<Rows> {
        self.rows(Command::CommandGetDbSchemas(command), request).await
    }

    async fn get_flight_info_tables(
        &self,
        command: CommandGetTables,
        request: Request<FlightDescriptor>,
    ) -> Done<Response<FlightInfo>> {
        self.told(Command::CommandGetTables(command), request).await
    }

    async fn do_get_tables(&self, command: CommandGetTables, request: Request<Ticket>) -> Done<Rows> {
        self.rows(Command::CommandGetTables(command), request).await
    }

    async fn get_flight_info_table_types(
        &self,
        command: CommandGetTableTypes,
        request: Request<FlightDescriptor>,
    ) -> Done<Response<FlightInfo>> {
        self.told(Command::CommandGetTableTypes(command), request).await
    }

    async fn do_get_table_types(
        &self,
        command: CommandGetTableTypes,
        request: Request<Ticket>,
    ) -> Done<Rows> {
        self.rows(Command::CommandGetTableTypes(command), request).await
    }

    async fn get_flight_info_primary_keys(
        &self,
        command: CommandGetPrimaryKeys,
        request: Request<FlightDescriptor>,
    ) -> Done<Response<FlightInfo>> {
        self.told(Command::CommandGetPrimaryKeys(command), request).await
    }

    async fn do_get_primary_keys(
        &self,
        command: CommandGetPrimaryKeys,
        request: Request<Ticket>,
    ) -> Done<Rows> {
        self.rows(Command::CommandGetPrimaryKeys(command), request).await
    }

    async fn get_flight_info_exported_keys(
        &self,
        command: CommandGetExportedKeys,
        request: Request<FlightDescriptor>,
    ) -> Done<Response<FlightInfo>> {
        self.told(Command::CommandGetExportedKeys(command), request).await
    }

    async fn do_get_exported_keys(
        &self,
        command: CommandGetExportedKeys,
        request: Request<Ticket>,
    ) -> Done<Rows> {
        self.rows(Command::CommandGetExportedKeys(command), request).await
    }

    async fn get_flight_info_imported_keys(
        &self,
        command: CommandGetImportedKeys,
        request: Request<FlightDescriptor>,
    ) -> Done<Response<FlightInfo>> {
        self.told(Command::CommandGetImportedKeys(command), request).await
    }

    async fn do_get_imported_keys(
        &self,
        command: CommandGetImportedKeys,
        request: Request<Ticket>,
    ) -> Done<Rows> {
        self.rows(Command::CommandGetImportedKeys(command), request).await
    }

    async fn get_flight_info_cross_reference(
        &self,
        command: CommandGetCrossReference,
        request: Request<FlightDescriptor>,
    ) -> Done<Response<FlightInfo>> {
        self.told(Command::CommandGetCrossReference(command), request).await
    }

    async fn do_get_cross_reference(
        &self,
        command: CommandGetCrossReference,
        request: Request<Ticket>,
    ) -> Done<Rows> {
        self.rows(Command::CommandGetCrossReference(command), request).await
    }

    async fn get_flight_info_sql_info(
        &self,
        command: CommandGetSqlInfo,
        request: Request<FlightDescriptor>,
    ) -> Done<Response<FlightInfo>> {
        let infos =
            INFO.as_ref().ok_or_else(|| Status::internal("what the server says of itself is missing"))?;
        let ticket = Ticket::new(command.as_any().encode_to_vec());
        info(Some(&command.into_builder(infos).schema()), ticket, request.into_inner()).map(Response::new)
    }

    async fn do_get_sql_info(&self, command: CommandGetSqlInfo, _: Request<Ticket>) -> Done<Rows> {
        let infos =
            INFO.as_ref().ok_or_else(|| Status::internal("what the server says of itself is missing"))?;
        Ok(Response::new(one(command.into_builder(infos).build().map_err(wrong)?)))
    }

    async fn get_flight_info_xdbc_type_info(
        &self,
        command: CommandGetXdbcTypeInfo,
        request: Request<FlightDescriptor>,
    ) -> Done<Response<FlightInfo>> {
        let types = TYPES.as_ref().ok_or_else(|| Status::internal("what types there are is missing"))?;
        let ticket = Ticket::new(command.as_any().encode_to_vec());
        info(Some(&command.into_builder(types).schema()), ticket, request.into_inner()).map(Response::new)
    }

    async fn do_get_xdbc_type_info(&self, command: CommandGetXdbcTypeInfo, _: Request<Ticket>) -> Done<Rows> {
        let types = TYPES.as_ref().ok_or_else(|| Status::internal("what types there are is missing"))?;
        Ok(Response::new(one(command.into_builder(types).build().map_err(wrong)?)))
    }

    async fn register_sql_info(&self, _: i32, _: &SqlInfo) {}
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Flight {
    /// What is said of an answer from the catalog: its schema is that of its rows.
    async fn told(&self, command: Command, request: Request<FlightDescriptor>) -> Done<Response<FlightInfo>> {
        let client = client(request.extensions())?;
        let batch = self.metadata(&client, command.clone()).await?;
        let ticket = Ticket::new(command.into_any().encode_to_vec());
        info(Some(&batch.schema()), ticket, request.into_inner()).map(Response::new)
    }

    /// An answer from the catalog.
    async fn rows(&self, command: Command, request: Request<Ticket>) -> Done<Rows> {
        let client = client(request.extensions())?;
        let batch = self.metadata(&client, command).await?;
        Ok(Response::new(one(batch)))
    }

    /// Ends what was said of.
    pub(super) fn cancel(&self, info: &FlightInfo, role: &str) -> bool {
        handles(info).any(|handle| self.app.statements.cancel(&handle, role))
    }
}

/// The statements whose tickets there are.
pub(super) fn handles(info: &FlightInfo) -> impl Iterator<Item = Vec<u8>> {
    let handle = |ticket: &Ticket| {
        let any = Any::decode(&*ticket.ticket).ok()?;
        match Command::try_from(any).ok()? {
            Command::TicketStatementQuery(ticket) => Some(ticket.statement_handle.to_vec()),
            Command::CommandPreparedStatementQuery(query) => Some(query.prepared_statement_handle.to_vec()),
            _ => None,
        }
    };
    info.endpoint.iter().filter_map(|endpoint| endpoint.ticket.as_ref()).filter_map(handle)
}
