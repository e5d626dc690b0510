//! Requests of a client and their answers, as HTTP over the socket has them.

use std::{
    io::{self, Read},
    time::Duration,
};

use bytes::{Buf, Bytes};
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, Response, StatusCode, body::Incoming, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value as Json, json};
use tokio::net::UnixStream;

use super::{Answered, Client, ClientError};

/// How often whoever waits is asked whether to go on.
pub(super) const GLANCE: Duration = Duration::from_millis(50);

impl Client {
    pub(super) fn json(&self, method: Method, path: &str, body: Bytes) -> Answered<Json> {
        let answer = self.request(method, path, &[], body)?;
        serde_json::from_slice(&answer).map_err(ClientError::lost)
    }

    /// The whole body of an answer.
    pub(super) fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Answered<Bytes> {
        let answer = self.send(method, path, headers, body, &|| true)?;
        let whole = self.runtime.block_on(answer.into_body().collect());
        Ok(whole.map_err(ClientError::lost)?.to_bytes())
    }

    /// Sends a request on a connection of its own; what ends the connection ends what it asked for.
    pub(super) fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
        goes_on: &dyn Fn() -> bool,
    ) -> Answered<Response<Incoming>> {
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body)).map_err(ClientError::lost)?;
        let answer = self.runtime.block_on(async {
            let stream = UnixStream::connect(&self.host.socket).await.map_err(ClientError::lost)?;
            let (mut sender, connection) =
                http1::handshake(TokioIo::new(stream)).await.map_err(ClientError::lost)?;
            tokio::spawn(connection);
            let mut answer = std::pin::pin!(sender.send_request(request));
            loop {
                match tokio::time::timeout(GLANCE, &mut answer).await {
                    Ok(answer) => return answer.map_err(ClientError::lost),
                    Err(_) if goes_on() => {}
                    Err(_) => return Err(ClientError::interrupted()),
                }
            }
        })?;
        match answer.status() {
            status if status.is_success() || status == StatusCode::NOT_MODIFIED => Ok(answer),
            status => {
                let body = self.runtime.block_on(answer.into_body().collect());
                let body = body.map_err(ClientError::lost)?.to_bytes();
                let json = serde_json::from_slice(&body).unwrap_or_else(|_| json!(status.to_string()));
                Err(ClientError::of(&json))
            }
        }
    }
}

/// The body of an answer as it comes.
pub(super) struct Body<'c> {
    pub client: &'c Client,
    pub body: Incoming,
    pub held: Bytes,
    pub goes_on: &'c dyn Fn() -> bool,
}

impl Read for Body<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.held.is_empty() {
            let (frame, goes_on) = (self.body.frame(), self.goes_on);
            let next = self.client.runtime.block_on(async {
                let mut frame = std::pin::pin!(frame);
                loop {
                    match tokio::time::timeout(GLANCE, &mut frame).await {
                        Ok(frame) => return Ok(frame),
                        Err(_) if goes_on() => {}
                        Err(_) => return Err(io::Error::other("interrupted")),
                    }
                }
            });
            match next? {
                None => return Ok(0),
                Some(frame) => {
                    if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
                        self.held = data;
                    }
                }
            }
        }
        let take = out.len().min(self.held.len());
        self.held.copy_to_slice(&mut out[..take]);
        Ok(take)
    }
}
