//! Bodies of requests, and the parameters behind the question mark.

use std::{
    io::{BufWriter, Write},
    time::Duration,
};

use axum::{
    body::Body,
    http::{HeaderMap, StatusCode, Uri, header},
};
use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::Value as Json;

use super::problem::Problem;

/// How long the next part of a body may take.
const PATIENCE: Duration = Duration::from_secs(30);

fn too_long(most: u64) -> Problem {
    let detail = format!("the body has more than {most} bytes, which is all that may be sent at once");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
}

/// The next part of a body; `None` at its end.
async fn part(body: &mut Body) -> Result<Option<Bytes>, Problem> {
    loop {
        let frame = tokio::time::timeout(PATIENCE, body.frame()).await.map_err(|_| {
            Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", "the rest of the body did not come")
        })?;
        match frame {
            None => return Ok(None),
            Some(Err(error)) => return Err(Problem::request(format!("the body cannot be read: {error}"))),
            Some(Ok(frame)) => {
                if let Ok(bytes) = frame.into_data() {
                    return Ok(Some(bytes));
                }
            }
        }
    }
}

/// A whole body of at most so many bytes.
pub(crate) async fn whole(mut body: Body, most: usize) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    while let Some(part) = part(&mut body).await? {
        if bytes.len() + part.len() > most {
            return Err(too_long(most as u64));
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

/// A whole body that is a text.
pub(crate) async fn whole_text(body: Body, most: usize) -> Result<String, Problem> {
    String::from_utf8(whole(body, most).await?).map_err(|_| Problem::request("the body is no UTF-8"))
}

/// A whole body that is JSON.
pub(crate) async fn whole_json(body: Body, most: usize) -> Result<Json, Problem> {
    let bytes = whole(body, most).await?;
    serde_json::from_slice(&bytes).map_err(|error| Problem::request(format!("the body is no JSON: {error}")))
}

/// Writes a body to a file of at most so many bytes.
pub(crate) async fn into_file(mut body: Body, file: &std::fs::File, most: u64) -> Result<u64, Problem> {
    let failed = |error: std::io::Error| Problem::server(format!("the body cannot be kept: {error}"));
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let mut written = 0;
    while let Some(part) = part(&mut body).await? {
        written += part.len() as u64;
        if written > most {
            return Err(too_long(most));
        }
        out.write_all(&part).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    Ok(written)
}

/// The media type of a body, without its parameters, in small letters.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The parameters behind the question mark.
#[derive(Clone, Default, Debug)]
pub(crate) struct Asked(Vec<(String, Vec<u8>)>);

impl Asked {
    pub(crate) fn of(uri: &Uri) -> Result<Self, Problem> {
        let pairs = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = String::from_utf8(decoded(name, true)?)
                .map_err(|_| Problem::request("a parameter is no UTF-8"))?;
            Ok((name, decoded(value, true)?))
        };
        pairs.map(pair).collect::<Result<_, Problem>>().map(Self)
    }

    /// Refuses parameters that nothing would look at.
    pub(crate) fn only(self, known: &[&str]) -> Result<Self, Problem> {
        match self.0.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(self),
            Some((name, _)) => Err(Problem::request(format!(
                "there is no parameter \"{name}\" here; there are {}",
                known.join(", ")
            ))),
        }
    }

    /// A value, as bytes.
    pub(crate) fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }

    /// A value that is a text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, Problem> {
        let text = self.bytes(name).map(std::str::from_utf8).transpose();
        text.map_err(|_| Problem::request(format!("the parameter \"{name}\" is no UTF-8")))
    }

    /// A value that is a number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        let number = self.text(name)?.map(str::parse).transpose();
        number.map_err(|_| Problem::request(format!("the parameter \"{name}\" is no whole number")))
    }

    /// A value that is true or false; true without a value.
    pub(crate) fn truth(&self, name: &str) -> Result<bool, Problem> {
        match self.text(name)? {
            None | Some("false" | "0") => Ok(false),
            Some("" | "true" | "1") => Ok(true),
            Some(other) => {
                Err(Problem::request(format!("the parameter \"{name}\" is true or false, not \"{other}\"")))
            }
        }
    }
}

/// What a text with `%41` stands for; in parameters `+` is a blank.
pub(crate) fn decoded(text: &str, plus: bool) -> Result<Vec<u8>, Problem> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| (*byte as char).to_digit(16));
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'%' => match (digit(at + 1), digit(at + 2)) {
                (Some(high), Some(low)) => {
                    out.push((high * 16 + low) as u8);
                    at += 2;
                }
                _ => return Err(Problem::request(format!("behind % in \"{text}\" are no two digits"))),
            },
            b'+' if plus => out.push(b' '),
            byte => out.push(byte),
        }
        at += 1;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let uri: Uri = "/x?a=1+2%2B&b&c=%ff".parse().unwrap();
        let asked = Asked::of(&uri).unwrap();
        assert_eq!(asked.text("a").unwrap(), Some("1 2+"));
        assert!(asked.truth("b").unwrap() && !asked.truth("d").unwrap());
        assert_eq!(asked.bytes("c"), Some(&[0xff][..]));
        assert_eq!(asked.text("c").unwrap_err().detail, "the parameter \"c\" is no UTF-8");
        assert_eq!(asked.number("a").unwrap_err().detail, "the parameter \"a\" is no whole number");
        let unknown = asked.clone().only(&["a", "b"]).unwrap_err();
        assert_eq!(unknown.detail, "there is no parameter \"c\" here; there are a, b");
        assert!(asked.only(&["a", "b", "c"]).is_ok());
        for wrong in ["%", "%4", "%zz", "a%"] {
            let detail = decoded(wrong, false).unwrap_err().detail;
            assert_eq!(detail, format!("behind % in \"{wrong}\" are no two digits"));
        }
    }

    proptest::proptest! {
        // Keeps away: a panic on foreign bytes, and keys that become others.
        #[test]
        fn what_is_encoded_is_decoded(bytes: Vec<u8>, any in "\\PC*") {
            let encoded: String = bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
            proptest::prop_assert_eq!(decoded(&encoded, true).unwrap(), bytes);
            let _any_text = decoded(&any, false);
        }
    }
}
