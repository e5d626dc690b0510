//! Arrow Flight with `GetSchema`: what serves Flight SQL by `arrow-flight` 59 cannot answer that itself.

use arrow_flight::{
    Action, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, HandshakeRequest, PollInfo,
    SchemaResult, Ticket, flight_service_server::FlightService,
};
use tonic::{Request, Response, Status, Streaming};

use super::{Done, Flight, client};

/// See the module.
pub(super) struct Served(pub Flight);

type Answer<T> = Done<Response<T>>;

#[tonic::async_trait]
impl FlightService for Served {
    type HandshakeStream = <Flight as FlightService>::HandshakeStream;
    type ListFlightsStream = <Flight as FlightService>::ListFlightsStream;
    type DoGetStream = <Flight as FlightService>::DoGetStream;
    type DoPutStream = <Flight as FlightService>::DoPutStream;
    type DoActionStream = <Flight as FlightService>::DoActionStream;
    type ListActionsStream = <Flight as FlightService>::ListActionsStream;
    type DoExchangeStream = <Flight as FlightService>::DoExchangeStream;

    /// The schema that the information of a flight has, without a ticket.
    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Answer<SchemaResult> {
        let role = client(request.extensions())?.role;
        let info = self.0.get_flight_info(request).await?.into_inner();
        // Nobody comes with its ticket.
        self.0.cancel(&info, &role);
        match info.schema.is_empty() {
            true => Err(Status::failed_precondition(
                "what this returns is known only when it runs: DoGet says it",
            )),
            false => Ok(Response::new(SchemaResult { schema: info.schema })),
        }
    }

    async fn handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Answer<Self::HandshakeStream> {
        self.0.handshake(request).await
    }

    async fn list_flights(&self, request: Request<Criteria>) -> Answer<Self::ListFlightsStream> {
        self.0.list_flights(request).await
    }

    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> Answer<FlightInfo> {
        self.0.get_flight_info(request).await
    }

    async fn poll_flight_info(&self, request: Request<FlightDescriptor>) -> Answer<PollInfo> {
        self.0.poll_flight_info(request).await
    }

    async fn do_get(&self, request: Request<Ticket>) -> Answer<Self::DoGetStream> {
        self.0.do_get(request).await
    }

    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> Answer<Self::DoPutStream> {
        self.0.do_put(request).await
    }

    async fn do_exchange(&self, request: Request<Streaming<FlightData>>) -> Answer<Self::DoExchangeStream> {
        self.0.do_exchange(request).await
    }

    async fn do_action(&self, request: Request<Action>) -> Answer<Self::DoActionStream> {
        self.0.do_action(request).await
    }

    async fn list_actions(&self, request: Request<Empty>) -> Answer<Self::ListActionsStream> {
        self.0.list_actions(request).await
    }
}
