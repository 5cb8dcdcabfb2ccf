use std::{sync::Arc, time::Duration};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};

use crate::server::{Bench, eventually, record};

/// Serves 200 with a certificate for 127.0.0.1 that ends in this year. Returns the port and the certificate in PEM.
async fn serve(last_year: i32) -> (u16, String) {
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(last_year, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let chain = vec![certificate.der().clone()];
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else {
                    return;
                };
                let mut buffer = [0; 65536];
                let _ = stream.read(&mut buffer).await;
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                let _ = stream.write_all(answer).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    (port, certificate.pem())
}

async fn bench(port: u16, ca_file: Option<&std::path::Path>) -> Bench {
    let ca_file = ca_file.map(|path| format!(", ca_file: {}", path.display()));
    let bench = Bench::new(None);
    bench
        .apply(&format!(
            "exports:\n  - {{name: ops, kind: webhook, url: 'https://127.0.0.1:{port}', peer_user: nobody, longest_pause: 50ms{}}}\n",
            ca_file.unwrap_or_default()
        ))
        .await;
    bench.push(&record(1));
    bench
}

/// The authority of a server changes while gpud runs: the file of the new one counts at the next try.
#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_file_of_authorities_counts_at_the_next_try() {
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    let (_, of_before) = serve(2090).await;
    let (port, pem) = serve(2090).await;
    std::fs::write(&ca_file, of_before).unwrap();
    let bench = bench(port, Some(&ca_file)).await;
    bench.says("ops", "certificate").await;
    assert_eq!(bench.view("ops").delivered, 0);
    std::fs::write(&ca_file, pem).unwrap();
    eventually(|| (bench.view("ops").delivered == 1).then_some(())).await;
    bench.exports.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_verified_and_users_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    let (port, pem) = serve(2090).await;
    std::fs::write(&ca_file, &pem).unwrap();
    let trusting = bench(port, Some(&ca_file)).await;
    eventually(|| (trusting.view("ops").delivered == 1).then_some(())).await;
    trusting.exports.stop().await;

    let stranger = bench(port, None).await;
    let reason = stranger.says("ops", "certificate").await;
    assert!(
        reason.contains("UnknownIssuer") || reason.contains("unknown issuer"),
        "{reason}"
    );
    stranger.exports.stop().await;

    let (port, pem) = serve(2021).await;
    std::fs::write(&ca_file, &pem).unwrap();
    let late = bench(port, Some(&ca_file)).await;
    late.says("ops", "expired").await;
    assert_eq!(late.view("ops").waiting(), 1);
    late.exports.stop().await;

    std::fs::write(&ca_file, "no certificate").unwrap();
    let odd = bench(port, Some(&ca_file)).await;
    odd.says("ops", "there is no certificate in PEM in it")
        .await;
    tokio::time::timeout(Duration::from_secs(60), odd.exports.stop())
        .await
        .unwrap();
}
