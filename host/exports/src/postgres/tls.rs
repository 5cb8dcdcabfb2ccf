//! TLS to a database, in libpq's modes.

use std::{io, pin::Pin, sync::Arc};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream as Encrypted,
    rustls::{
        CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore,
        SignatureScheme,
        client::{
            WebPkiServerVerifier,
            danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        },
        crypto::{self, WebPkiSupportedAlgorithms, ring},
        pki_types::{
            CertificateDer, InvalidDnsNameError, ServerName, UnixTime, pem::PemObject as _,
        },
    },
};

use super::{
    answers::{ClearText, LimitedConnection},
    settings::{DatabaseServer, TlsMode},
};
use crate::{Context, DeliveryError};

/// Makes what connects to a server. The system's certificates are read where a thread may block.
pub async fn connector(
    server: &DatabaseServer,
    context: &Context,
) -> Result<Connector, DeliveryError> {
    let (mode, ca_file) = (server.tls, server.ca_file.clone());
    let secrets = Arc::clone(&context.environment.secrets);
    let made = tokio::task::spawn_blocking(move || {
        let pem = ca_file
            .as_ref()
            .map(|path| secrets.file(path))
            .transpose()?;
        let made = client_config(mode, pem.as_deref());
        made.map_err(|error| match &ca_file {
            Some(path) => format!("{}: {error}", path.display()),
            None => error,
        })
    });
    let made = made.await.unwrap_or_else(|error| Err(error.to_string()));
    let config = made.map_err(DeliveryError::transient)?;
    Ok(Connector {
        connector: TlsConnector::from(Arc::new(config)),
    })
}

fn client_config(mode: TlsMode, pem: Option<&[u8]>) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let chain = match mode {
        TlsMode::VerifyFull => {
            let config = config.with_root_certificates(roots(pem)?);
            return Ok(config.with_no_client_auth());
        }
        TlsMode::VerifyCa => {
            let roots = Arc::new(roots(pem)?);
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
            Some(verifier.map_err(|error| error.to_string())?)
        }
        TlsMode::Require | TlsMode::Disable => None,
    };
    let verifier = Arc::new(AnyName { chain, algorithms });
    let config = config
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(config)
}

/// Reads the system's certificates, and further ones.
fn roots(pem: Option<&[u8]>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let Some(pem) = pem else { return Ok(roots) };
    let mut count = 0;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let added = certificate.map_err(|error| error.to_string())?;
        roots.add(added).map_err(|error| error.to_string())?;
        count += 1;
    }
    match count {
        0 => Err("there is no certificate in PEM in it".to_owned()),
        _ => Ok(roots),
    }
}

/// Accepts certificates for any name: all of them, or those of trusted authorities.
#[derive(Debug)]
struct AnyName {
    /// Verifies the authority; `None` believes any server.
    chain: Option<Arc<WebPkiServerVerifier>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified =
            chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // The name is compared last, when all else is in order.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Encrypts connections.
#[derive(Clone)]
pub struct Connector {
    connector: TlsConnector,
}

/// An encrypted connection, with limits on what the server sends.
pub type EncryptedStream<S> = LimitedConnection<Encrypted<S>>;

/// Encrypts one connection to a server of this name.
pub struct ToServer {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Connector {
    type Stream = EncryptedStream<S>;
    type TlsConnect = ToServer;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<ToServer, InvalidDnsNameError> {
        Ok(ToServer {
            connector: self.connector.clone(),
            name: ServerName::try_from(domain.to_owned())?,
        })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for ToServer {
    type Stream = EncryptedStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let encrypted = self.connector.connect(self.name, stream).await?;
            Ok(LimitedConnection::new(encrypted, ClearText::Allowed))
        })
    }
}
