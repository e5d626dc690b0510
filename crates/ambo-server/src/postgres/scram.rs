//! SCRAM-SHA-256, the server's side (RFC 5802). Channel binding is not offered, so a client that takes it for offered is refused.

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};

use super::message::{Malformed, Reader};
use crate::roles::{Secret, random};

pub(super) const MECHANISM: &str = "SCRAM-SHA-256";

/// What is said before the client proves that it knows the password.
pub(super) struct Challenge {
    secret: Secret,
    /// What stood before the client's first message: it comes again.
    header: String,
    nonce: String,
    /// The first messages of both, which are signed.
    messages: String,
    /// What is sent.
    pub text: String,
}

const NONCE: usize = 18;

impl Challenge {
    /// Answers the first message of a client.
    pub fn new(secret: Secret, first: &str) -> Result<Self, Malformed> {
        let bytes = random::<NONCE>();
        Self::with_nonce(secret, first, &BASE64.encode(bytes))
    }

    fn with_nonce(secret: Secret, first: &str, nonce: &str) -> Result<Self, Malformed> {
        let wrong = Malformed("it is no first message of SCRAM without channel binding");
        // "n" cannot bind to the channel; "y" could, and believes that the server cannot, which is true.
        let bare = first.strip_prefix("n,,").or_else(|| first.strip_prefix("y,,")).ok_or(wrong)?;
        let header = first[..3].to_owned();
        let client = bare.split(',').find_map(|part| part.strip_prefix("r=")).ok_or(wrong)?;
        if client.is_empty() || !client.bytes().all(|byte| byte.is_ascii_graphic()) || bare.starts_with("m=")
        {
            return Err(wrong);
        }
        let nonce = format!("{client}{nonce}");
        let text = format!("r={nonce},s={},i={}", BASE64.encode(&secret.salt), secret.iterations);
        Ok(Self { secret, header, nonce, messages: format!("{bare},{text}"), text })
    }

    /// What proves to the client that the server has its verifier, if the client's last message proves that it knows the password.
    pub fn check(&self, last: &str) -> Option<String> {
        let (without_proof, proof) = last.rsplit_once(",p=")?;
        let mut parts = without_proof.split(',');
        let binding = parts.next()?.strip_prefix("c=")?;
        let nonce = parts.next()?.strip_prefix("r=")?;
        if BASE64.decode(binding).ok()? != self.header.as_bytes() || nonce != self.nonce {
            return None;
        }
        let signed = format!("{},{without_proof}", self.messages);
        let proof = BASE64.decode(proof).ok()?;
        let proves = self.secret.proves(signed.as_bytes(), &proof);
        proves.then(|| format!("v={}", BASE64.encode(self.secret.server_signature(signed.as_bytes()))))
    }
}

/// The mechanism that a client has chosen, and its first message.
pub(super) fn first(body: &[u8]) -> Result<(&str, &str), Malformed> {
    let mut from = Reader(body);
    let mechanism = from.text()?;
    let length = usize::try_from(from.i32()?).map_err(|_| Malformed("a length is below zero"))?;
    let text = from.take(length)?;
    Ok((mechanism, std::str::from_utf8(text).map_err(|_| Malformed("a text is no UTF-8"))?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_client_that_knows_the_password_comes_in() {
        let secret = Secret::parse(
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
        )
        .unwrap();
        let first = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
        let challenge =
            Challenge::with_nonce(secret.clone(), first, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0").unwrap();
        let last = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(challenge.check(last).as_deref(), Some("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        assert!(challenge.check(&last.replace("p=d", "p=e")).is_none());
        assert!(challenge.check(&last.replace("c=biws", "c=eSws")).is_none());
        for wrong in ["p=tls-server-end-point,,n=,r=a", "n,a=root,n=,r=a", "n,,n=,r=", "n,,m=x,r=a", ""] {
            assert!(Challenge::new(secret.clone(), wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_refused(text in "[a-z=,+/ü]{0,60}", body in prop::collection::vec(any::<u8>(), 0..60)) {
            let challenge = Challenge::new(Secret::mock("x"), "n,,n=,r=abc").unwrap();
            prop_assert!(challenge.check(&text).is_none());
            let _message_or_not = first(&body);
            let _challenge_or_not = Challenge::new(Secret::mock("x"), &text);
        }
    }
}
