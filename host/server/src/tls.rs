//! The server's certificate: made in memory at start, or the operator's own.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use jiff::{Timestamp, ToSpan as _, civil::Date, tz::TimeZone};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use tokio_rustls::rustls::{
    self, ServerConfig,
    client::verify_server_name,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, pem::PemObject as _,
    },
    server::{ClientHello, ParsedCertificate, ResolvesServerCert},
    sign::{CertifiedKey, SingleCertAndKey},
};

use super::reload::Reload;
use crate::node::trusted;

/// Larger files hold no certificate.
const MAX_PEM_BYTES: usize = 1024 * 1024;

/// Why there is no certificate to serve with.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read the TLS {kind} file {}: {source}", path.display())]
    Read {
        /// `certificate` or `key`.
        kind: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("the TLS {kind} file {} holds no usable PEM {kind}: {reason}", path.display())]
    Content {
        /// `certificate` or `key`.
        kind: &'static str,
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// The two files do not fit together.
    #[error("the TLS certificate in {} and the key in {} cannot be used together: {source}", certificate.display(), key.display())]
    Pair {
        /// Certificate file.
        certificate: PathBuf,
        /// Key file.
        key: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// A certificate of our own could not be made.
    #[error("cannot make a self-signed TLS certificate: {0}")]
    Generate(String),
}

/// A new self-signed ECDSA P-256 certificate, valid for 365 days for `localhost`, the loopback addresses and
/// `hostname`. It is never written to disk, so clients cannot pin it; local tools skip its verification.
pub fn self_signed(hostname: &str) -> Result<Arc<ServerConfig>, TlsError> {
    let (certificate, key) =
        generate(hostname).map_err(|error| TlsError::Generate(error.to_string()))?;
    let made = CertifiedKey::from_der(vec![certificate], key, &ring::default_provider())
        .and_then(|made| with_resolver(Arc::new(SingleCertAndKey::from(made))));
    made.map_err(|error| TlsError::Generate(error.to_string()))
}

/// The operator's certificate chain (leaf first) and private key, both PEM. The second value reloads them.
pub fn from_files(
    certificate: &Path,
    key: &Path,
) -> Result<(Arc<ServerConfig>, Arc<Certificate>), TlsError> {
    let current = Certificate {
        current: RwLock::new(Arc::new(load(certificate, key)?)),
        certificate: certificate.to_owned(),
        key: key.to_owned(),
    };
    let current = Arc::new(current);
    let config = with_resolver(Arc::<Certificate>::clone(&current))
        .map_err(|error| TlsError::Generate(error.to_string()))?;
    Ok((config, current))
}

/// The certificate of files: the one that was read last. Connections that are there keep theirs.
#[derive(Debug)]
pub struct Certificate {
    certificate: PathBuf,
    key: PathBuf,
    current: RwLock<Arc<CertifiedKey>>,
}

impl Certificate {
    /// Returns whether the certificate is for this name of a machine.
    pub(super) fn is_for(&self, name: &str) -> bool {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let parsed = current.cert.first().map(ParsedCertificate::try_from);
        let (Some(Ok(parsed)), Ok(name)) = (parsed, ServerName::try_from(name)) else {
            return false;
        };
        verify_server_name(&parsed, &name).is_ok()
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&current))
    }
}

impl Reload for Certificate {
    fn what(&self) -> &'static str {
        "TLS certificate"
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.certificate.clone(), self.key.clone()]
    }

    fn reload(&self) -> Result<(), String> {
        let new = load(&self.certificate, &self.key).map_err(|error| error.to_string())?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        Ok(())
    }
}

fn load(certificate: &Path, key: &Path) -> Result<CertifiedKey, TlsError> {
    let content = |kind, path: &Path, reason: String| TlsError::Content {
        kind,
        path: path.to_owned(),
        reason,
    };
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(&read("certificate", certificate)?)
            .collect::<Result<_, _>>()
            .map_err(|error| content("certificate", certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(content(
            "certificate",
            certificate,
            "no CERTIFICATE section".to_owned(),
        ));
    }
    let private = PrivateKeyDer::from_pem_slice(&read("key", key)?)
        .map_err(|error| content("key", key, error.to_string()))?;
    CertifiedKey::from_der(chain, private, &ring::default_provider()).map_err(|source| {
        TlsError::Pair {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            source,
        }
    })
}

fn read(kind: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |source| TlsError::Read {
        kind,
        path: path.to_owned(),
        source,
    };
    trusted::read(path, MAX_PEM_BYTES).map_err(|error| failed(error.into()))
}

fn with_resolver(
    resolver: Arc<dyn ResolvesServerCert>,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn generate(
    hostname: &str,
) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), rcgen::Error> {
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    // A host name that no certificate can carry is no reason not to start.
    if !hostname.is_empty() && hostname.is_ascii() {
        names.push(hostname.to_owned());
    }
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, "gpud");
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let (year, month, day) = ymd(today);
    params.not_before = date_time_ymd(year, month, day);
    let (year, month, day) = ymd(today.saturating_add(365.days()));
    params.not_after = date_time_ymd(year, month, day);
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok((
        certificate.der().clone(),
        PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
    ))
}

/// Year, month and day as rcgen takes them.
fn ymd(date: Date) -> (i32, u8, u8) {
    (
        i32::from(date.year()),
        date.month().unsigned_abs(),
        date.day().unsigned_abs(),
    )
}

#[cfg(test)]
mod tests;
