//! The certificate of a server.

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use rustls::{
    ServerConfig,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use crate::{Error, Result};

/// Where the certificate of a server is, and its key; both are PEM.
#[derive(Clone, Debug)]
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
}

impl Tls {
    /// A file of certificates, the server's own first, and the file of its key.
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self { certificate: certificate.into(), key: key.into() }
    }

    /// What listeners use.
    ///
    /// # Errors
    /// A file that cannot be read, or a key that is another certificate's.
    pub(crate) fn load(&self) -> Result<Arc<ServerConfig>> {
        let wrong = |what: &PathBuf, error: &dyn std::fmt::Display| {
            Error::new(format!("{}: {error}; a certificate and its key are PEM files", what.display()))
        };
        let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect)
            .map_err(|error| wrong(&self.certificate, &error))?;
        if certificates.is_empty() {
            return Err(wrong(&self.certificate, &"there is no certificate in it"));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| wrong(&self.key, &error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::new(error.to_string()))?
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .map_err(|error| wrong(&self.key, &error))?;
        Ok(Arc::new(config))
    }
}

/// A certificate that can be read again.
pub(crate) struct Certificate {
    files: Tls,
    now: RwLock<Arc<ServerConfig>>,
}

impl Certificate {
    pub(crate) fn new(files: Tls) -> Result<Self> {
        let now = RwLock::new(files.load()?);
        Ok(Self { files, now })
    }

    /// What a connection that is made now uses.
    pub(crate) fn now(&self) -> Arc<ServerConfig> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same for a listener of HTTP or Flight, whose clients agree on HTTP's version with the certificate: those of gRPC insist.
    #[cfg(feature = "http")]
    pub(crate) fn speaking(&self, protocol: crate::Protocol) -> Arc<ServerConfig> {
        let mut config = ServerConfig::clone(&self.now());
        config.alpn_protocols = match protocol {
            crate::Protocol::Flight => vec![b"h2".to_vec()],
            _ => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        };
        Arc::new(config)
    }

    /// # Errors
    /// As [`Tls::load`]; the one that was there stays.
    pub(crate) fn reload(&self) -> Result<()> {
        let new = self.files.load()?;
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }
}
