use std::time::Duration;

use tokio_rustls::rustls::{
    RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier as _},
    pki_types::UnixTime,
};

use super::*;

fn pem_pair(dir: &Path) -> (PathBuf, PathBuf) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".into()])
        .unwrap()
        .self_signed(&key)
        .unwrap();
    let paths = (dir.join("cert.pem"), dir.join("key.pem"));
    std::fs::write(&paths.0, certificate.pem()).unwrap();
    std::fs::write(&paths.1, key.serialize_pem()).unwrap();
    paths
}

#[test]
fn files_are_taken_and_errors_name_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let (certificate, key) = pem_pair(dir.path());
    from_files(&certificate, &key).unwrap();

    let missing = dir.path().join("missing.pem");
    let error = from_files(&missing, &key).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!(
            "cannot read the TLS certificate file {}: ",
            missing.display()
        )),
        "{error}"
    );

    let error = from_files(&key, &key).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!(
            "the TLS certificate file {} holds no usable",
            key.display()
        )),
        "{error}"
    );
    let error = from_files(&certificate, &certificate)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with(&format!(
            "the TLS key file {} holds no usable",
            certificate.display()
        )),
        "{error}"
    );

    let other = tempfile::tempdir().unwrap();
    let (_, other_key) = pem_pair(other.path());
    let error = from_files(&certificate, &other_key).unwrap_err();
    assert!(matches!(error, TlsError::Pair { .. }), "{error}");
    assert!(error.to_string().contains(&other_key.display().to_string()));
}

#[test]
fn new_files_are_taken_and_broken_ones_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let (certificate, key) = pem_pair(dir.path());
    let (_, current) = from_files(&certificate, &key).unwrap();
    assert!(current.is_for("localhost"));
    for name in ["node-2", "localhost.example", "", "not a name"] {
        assert!(!current.is_for(name), "{name}");
    }
    let leaf = || current.current.read().unwrap().cert[0].clone();
    let first = leaf();
    pem_pair(dir.path());
    current.reload().unwrap();
    let second = leaf();
    assert_ne!(first, second);
    std::fs::write(&key, "no key").unwrap();
    let problem = current.reload().unwrap_err();
    assert!(problem.contains(&key.display().to_string()), "{problem}");
    assert_eq!(leaf(), second);
}

#[test]
fn a_strange_hostname_does_not_stop_the_start() {
    for hostname in ["", "node-1", "under_score", "knoten-ü", "with space"] {
        self_signed(hostname).unwrap();
    }
}

#[test]
fn the_certificate_is_good_for_its_names_and_a_year() {
    let (certificate, _) = generate("node-1").unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let verifier = WebPkiServerVerifier::builder_with_provider(
        Arc::new(roots),
        Arc::new(ring::default_provider()),
    )
    .build()
    .unwrap();
    let verify = |name: &str, days: u64| {
        let at = UnixTime::since_unix_epoch(
            UnixTime::now()
                .as_secs()
                .checked_add(days * 86_400)
                .map(Duration::from_secs)
                .unwrap(),
        );
        let name = ServerName::try_from(name.to_owned()).unwrap();
        verifier.verify_server_cert(&certificate, &[], &name, &[], at)
    };
    for name in ["localhost", "127.0.0.1", "::1", "node-1"] {
        verify(name, 0).unwrap();
        verify(name, 363).unwrap();
    }
    assert!(verify("node-2", 0).is_err());
    assert!(verify("localhost", 366).is_err());
}
