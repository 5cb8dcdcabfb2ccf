//! Which clients are let in, and how a daemon in operation gets another certificate or token.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use gpud::cli::client::trust;
use http::Method;
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    rustls::pki_types::{CertificateDer, ServerName},
};

use crate::daemon::{Daemon, Start, eventually, gpud};

const ONE: &[&str] = &["--components=cpu", "--plugin-specs-file="];

fn set_healthy(daemon: &Daemon, arguments: &[&str]) -> (bool, String) {
    let output = gpud()
        .args(["set-healthy", "cpu", "--server", &daemon.url()])
        .args(arguments)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn a_daemon_of_this_machine_only_makes_no_token() {
    let daemon = Start::new().arguments(ONE).ready();
    assert!(!daemon.folder().join("token").exists());
    assert_eq!(daemon.get("/swagger/doc.json")["info"]["title"], "gpud");
    assert_eq!(daemon.send(Method::GET, "/admin/pprof/heap").0, 404);
}

#[test]
fn profiles_are_left_to_perf() {
    let daemon = Start::new()
        .arguments(&[ONE, &["--pprof"]].concat())
        .ready();
    let (status, body) = daemon.send(Method::GET, "/admin/pprof/heap");
    assert_eq!(status, 501);
    let body = String::from_utf8(body).unwrap();
    assert!(body.contains("perf record"), "{body}");
}

#[test]
fn a_daemon_that_listens_wider_makes_a_token_and_keeps_it_to_itself() {
    let daemon = Start::new().wide().arguments(ONE).ready();
    let file = daemon.folder().join("token");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let token = fs::read_to_string(&file).unwrap();
    assert_eq!(token.trim().len(), 64);
    // The user that started the daemon can read the token, so that none is asked for.
    let (status, _) = daemon.send(
        Method::GET,
        "/v1/components/trigger-check?componentName=cpu",
    );
    assert_eq!(status, 200);
    let log = daemon.log();
    assert!(log.contains(&file.display().to_string()), "{log}");
    assert!(!log.contains(token.trim()));
}

#[test]
fn with_require_token_commands_show_it() {
    let arguments = [ONE, &["--require-token", "--pprof", "--log-level=debug"]].concat();
    let daemon = Start::new().arguments(&arguments).spawn();
    let up = || {
        daemon
            .try_get("/healthz")
            .filter(|(status, _)| *status == 200)
    };
    eventually("it answers", up);
    for path in ["/v1/states", "/metrics", "/nothing", "/swagger/doc.json"] {
        assert_eq!(daemon.send(Method::GET, path).0, 401, "{path}");
    }
    assert_eq!(daemon.send_body(Method::POST, "/v1/plugins", "[]").0, 401);
    let (done, text) = set_healthy(&daemon, &[]);
    assert!(
        !done && text.contains("401") && text.contains("bearer token"),
        "{text}"
    );
    let file = daemon.folder().join("token").display().to_string();
    let (_, text) = set_healthy(&daemon, &["--token-file", &file]);
    assert!(
        text.contains("does not support setting healthy state"),
        "{text}"
    );
    let list = |arguments: &[&str]| {
        let output = gpud()
            .args(["list-plugins", "--server", &daemon.url()])
            .args(arguments)
            .env("HOME", "/nowhere")
            .output();
        output.unwrap().status.success()
    };
    assert!(list(&["--token-file", &file]) && !list(&[]));
    // Another token, while it runs.
    let secret = "correct-horse-battery-staple";
    fs::write(&file, secret).unwrap();
    daemon.signal("-HUP");
    eventually("the new token counts", || {
        list(&["--token-file", &file]).then_some(())
    });
    let log = daemon.log();
    assert!(!log.contains(secret) && !log.contains("/nothing"), "{log}");
}

struct Pair {
    certificate: PathBuf,
    key: PathBuf,
}

impl Pair {
    fn renew(folder: &Path) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let pair = Self {
            certificate: folder.join("cert.pem"),
            key: folder.join("key.pem"),
        };
        fs::write(&pair.certificate, made.cert.pem()).unwrap();
        fs::write(&pair.key, made.signing_key.serialize_pem()).unwrap();
        pair
    }
}

fn served(daemon: &Daemon) -> Option<CertificateDer<'static>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let stream = TcpStream::connect(("127.0.0.1", daemon.port()))
            .await
            .ok()?;
        let name = ServerName::try_from("localhost").unwrap();
        let connector = TlsConnector::from(Arc::new(trust::anyone().unwrap()));
        let stream = connector.connect(name, stream).await.ok()?;
        let leaf = stream.get_ref().1.peer_certificates()?.first()?;
        Some(leaf.clone().into_owned())
    })
}

#[test]
fn a_new_certificate_is_taken_and_a_broken_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let pair = Pair::renew(folder.path());
    let arguments = [
        "--components=cpu".to_owned(),
        format!("--tls-cert={}", pair.certificate.display()),
        format!("--tls-key={}", pair.key.display()),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let daemon = Start::new().arguments(&arguments).ready();
    let first = served(&daemon).unwrap();
    Pair::renew(folder.path());
    let second = eventually("the new certificate is served", || {
        served(&daemon).filter(|leaf| *leaf != first)
    });
    fs::write(&pair.key, "broken").unwrap();
    daemon.signal("-HUP");
    eventually("the log says so", || {
        let log = daemon.log();
        let place = pair.key.display().to_string();
        (log.contains("of before stays in use") && log.contains(&place)).then_some(())
    });
    assert_eq!(served(&daemon), Some(second));
}

/// The files below a folder in which `unsafe` is allowed.
fn unsafe_files(folder: &Path, found: &mut Vec<String>, root: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            unsafe_files(&path, found, root);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && fs::read_to_string(&path).unwrap().contains("unsafe_code")
        {
            found.push(path.strip_prefix(root).unwrap().display().to_string());
        }
    }
}

#[test]
fn the_list_of_files_with_unsafe_code_is_complete() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    unsafe_files(host, &mut found, host.parent().unwrap());
    found.sort();
    let text = include_str!("../../docs/security.md");
    let (_, section) = text.split_once("## Unsafe code").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let listed: Vec<&str> = rows
        .filter_map(|row| Some(row.split_once('`')?.0))
        .collect();
    assert_eq!(found, listed);
}
