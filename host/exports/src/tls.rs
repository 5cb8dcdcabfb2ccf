//! TLS of clients: whom they trust, and how they prove who they are.

use std::{fmt, sync::Arc};

use tokio_rustls::rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

/// Whom a client trusts, and how it proves who it is.
#[derive(Clone, Copy, Default)]
pub struct Tls<'a> {
    /// Certificates to trust, PEM.
    pub roots: Option<&'a [u8]>,
    /// Trust those and not the system's.
    pub only_those: bool,
    /// The client's own certificate chain and its key, PEM.
    pub identity: Option<(&'a [u8], &'a [u8])>,
}

/// Why TLS cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TlsError(String);

impl TlsError {
    pub(crate) fn of(error: &dyn fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// Makes the configuration of a client that verifies the server. Blocks while the system's certificates are read.
///
/// # Errors
/// A certificate or the key cannot be read.
pub fn client_config(tls: Tls<'_>) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::of(&error))?
        .with_root_certificates(roots(tls)?);
    match tls.identity {
        None => Ok(config.with_no_client_auth()),
        Some((chain, key)) => {
            let key = PrivateKeyDer::from_pem_slice(key)
                .map_err(|_| TlsError("there is no private key in PEM in it".to_owned()))?;
            config
                .with_client_auth_cert(certificates(chain)?, key)
                .map_err(|error| TlsError::of(&error))
        }
    }
}

/// Reads the certificates to trust.
pub(crate) fn roots(tls: Tls<'_>) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    if !tls.only_those {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    for certificate in tls.roots.map(certificates).transpose()?.unwrap_or_default() {
        roots
            .add(certificate)
            .map_err(|error| TlsError::of(&error))?;
    }
    Ok(roots)
}

/// Reads all certificates of a file, at least one.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read = read.map_err(|error| TlsError::of(&error))?;
    if read.is_empty() {
        return Err(TlsError("there is no certificate in PEM in it".to_owned()));
    }
    Ok(read)
}
