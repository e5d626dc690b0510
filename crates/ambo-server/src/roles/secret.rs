//! What is kept of a password: enough to check it by SCRAM-SHA-256 (RFC 5802, RFC 7677), and not enough to come in with.

use std::{fmt, num::NonZeroU32, sync::OnceLock};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use ring::{
    digest, hmac, pbkdf2,
    rand::{SecureRandom, SystemRandom},
};
use subtle::ConstantTimeEq;

/// The verifier of a password, in PostgreSQL's words `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    pub(crate) iterations: NonZeroU32,
    pub(crate) salt: Vec<u8>,
    pub(crate) stored_key: [u8; KEY],
    pub(crate) server_key: [u8; KEY],
}

const KEY: usize = digest::SHA256_OUTPUT_LEN;
const SALT: usize = 16;
/// As many as PostgreSQL: clients pay for them at each connection.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(4096).expect("not zero");
/// So that a file of roles cannot have logins take hours.
const ITERATIONS_MAX: u32 = 1_000_000;

impl Secret {
    /// Of a password, with a salt of its own.
    pub fn of(password: &str) -> Self {
        Self::with_salt(password, random::<SALT>().to_vec(), ITERATIONS)
    }

    fn with_salt(password: &str, salt: Vec<u8>, iterations: NonZeroU32) -> Self {
        let mut salted = [0; KEY];
        let password = prepared(password);
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, &salt, password.as_bytes(), &mut salted);
        let client_key = sign(&salted, b"Client Key");
        Self { iterations, salt, stored_key: hash(&client_key), server_key: sign(&salted, b"Server Key") }
    }

    /// Reads what [`Secret`]'s `Display` writes; `None` if it is no such thing.
    pub fn parse(text: &str) -> Option<Self> {
        let (iterations, rest) = text.strip_prefix("SCRAM-SHA-256$")?.split_once(':')?;
        let (salt, keys) = rest.split_once('$')?;
        let (stored, server) = keys.split_once(':')?;
        let key = |text: &str| BASE64.decode(text).ok()?.try_into().ok();
        Some(Self {
            iterations: iterations.parse().ok().filter(|n: &NonZeroU32| n.get() <= ITERATIONS_MAX)?,
            salt: BASE64.decode(salt).ok().filter(|salt| !salt.is_empty())?,
            stored_key: key(stored)?,
            server_key: key(server)?,
        })
    }

    /// One that no password opens, for names that are no role's: it is the same each time it is asked for, as a role's would be.
    pub(crate) fn mock(name: &str) -> Self {
        static KEY_OF_MOCKS: OnceLock<[u8; KEY]> = OnceLock::new();
        let key = KEY_OF_MOCKS.get_or_init(random);
        let of = |what: &str| sign(key, format!("{what} {name}").as_bytes());
        Self {
            iterations: ITERATIONS,
            salt: of("salt")[..SALT].to_vec(),
            stored_key: of("stored"),
            server_key: of("server"),
        }
    }

    /// Whether it is that of this password.
    pub fn is_of(&self, password: &str) -> bool {
        let given = Self::with_salt(password, self.salt.clone(), self.iterations);
        is_same(&given.stored_key, &self.stored_key)
    }

    /// Whether a client that signed `messages` with `proof` has the password.
    pub(crate) fn proves(&self, messages: &[u8], proof: &[u8]) -> bool {
        let Ok(mut client_key) = <[u8; KEY]>::try_from(proof) else { return false };
        for (byte, signed) in client_key.iter_mut().zip(sign(&self.stored_key, messages)) {
            *byte ^= signed;
        }
        is_same(&hash(&client_key), &self.stored_key)
    }

    /// What shows to the client that the server has the verifier.
    pub(crate) fn server_signature(&self, messages: &[u8]) -> [u8; KEY] {
        sign(&self.server_key, messages)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [salt, stored, server] =
            [&self.salt[..], &self.stored_key, &self.server_key].map(|bytes| BASE64.encode(bytes));
        write!(f, "SCRAM-SHA-256${}:{salt}${stored}:{server}", self.iterations)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A password as it is hashed: normalised where SASLprep takes it, and as it is elsewhere, which is what PostgreSQL does.
fn prepared(password: &str) -> String {
    stringprep::saslprep(password).map_or_else(|_| password.to_owned(), |text| text.into_owned())
}

fn sign(key: &[u8], message: &[u8]) -> [u8; KEY] {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message);
    tag.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

pub(super) fn hash(bytes: &[u8]) -> [u8; KEY] {
    digest::digest(&digest::SHA256, bytes).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// Whether bytes are the same, in a time that does not tell where they differ.
pub(crate) fn is_same(left: &[u8], right: &[u8]) -> bool {
    left.ct_eq(right).into()
}

/// Bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the system has random bytes");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_7677_is_proved() {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let secret = Secret::with_salt("pencil", salt, ITERATIONS);
        let messages = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                        s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let mut proof = BASE64.decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=").unwrap();
        assert!(secret.proves(messages.as_bytes(), &proof));
        let signature = BASE64.encode(secret.server_signature(messages.as_bytes()));
        assert_eq!(signature, "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        proof[3] ^= 1;
        assert!(!secret.proves(messages.as_bytes(), &proof));
        assert!(!secret.proves(messages.as_bytes(), &proof[1..]));
    }

    #[test]
    fn a_secret_is_written_and_read() {
        let secret = Secret::of("what is it");
        assert!(secret.is_of("what is it") && !secret.is_of("what is"));
        let read = Secret::parse(&secret.to_string()).unwrap();
        assert!(read == secret);
        for wrong in ["", "md5abc", "SCRAM-SHA-256$0:YQ==$YQ==:YQ==", "SCRAM-SHA-256$4096:YQ==$YQ==:YQ=="] {
            assert!(Secret::parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn names_of_nobody_have_the_same_salt_each_time() {
        assert!(Secret::mock("ada") == Secret::mock("ada"));
        assert!(Secret::mock("ada").salt != Secret::mock("bob").salt);
    }
}
