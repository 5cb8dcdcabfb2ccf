//! Other users of the machine, and web pages, that want more than their share or more than they may.
//!
//! Another user is a thread of this process that has given up root, so these tests need root and are left out elsewhere.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    os::unix::net::UnixStream,
    sync::Arc,
    thread,
    time::Duration,
};

use gpud::cli::client::{Client, trust};
use http::Method;
use rustix::{
    process::{Gid, Resource, Uid, geteuid, getrlimit, setrlimit},
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
};
use tokio_rustls::{
    TlsAcceptor, TlsConnector,
    client::TlsStream,
    rustls::{
        ServerConfig,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName},
    },
};

use crate::daemon::{Daemon, Start, eventually, gpud, known_flags};

/// The arguments of a daemon with one component.
pub const ONE: &[&str] = &["--components=cpu", "--plugin-specs-file="];
/// A user that is neither root nor gpud's.
pub const STRANGER: u32 = 12345;

/// What a client of HTTP/2 sends first: the preface, and settings of which none is another than the default.
const GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// Handshakes take milliseconds; one that takes this long is not begun.
const NOT_ACCEPTED: Duration = Duration::from_secs(10);

/// Whether this process can act as other users.
pub fn can_be_others() -> bool {
    let root = geteuid().is_root();
    if !root {
        eprintln!("left out: this takes root");
    }
    root
}

/// Does this work as another user, on one thread.
pub fn as_user<T: Send>(uid: u32, work: impl AsyncFnOnce() -> T + Send) -> T {
    let done = thread::scope(|scope| {
        let user = scope.spawn(|| {
            let (user, group) = (Uid::from_raw(uid), Gid::from_raw(uid));
            set_thread_groups(&[]).unwrap();
            set_thread_res_gid(group, group, group).unwrap();
            set_thread_res_uid(user, user, user).unwrap();
            block_on(work())
        });
        user.join()
    });
    done.unwrap()
}

/// Does this work on this thread.
pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(work)
}

/// Speaks TLS over a connection.
pub async fn tls(stream: TcpStream, alpn: &[u8]) -> io::Result<TlsStream<TcpStream>> {
    let mut config = trust::anyone().unwrap();
    config.alpn_protocols = vec![alpn.to_vec()];
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

/// From this port, or any for 0. Dropped, the connection is reset, so that the port is free at once.
async fn connect(port: u16, daemon: u16) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_zero_linger()?;
    socket.bind(SocketAddr::from(([127, 0, 0, 1], port)))?;
    socket
        .connect(SocketAddr::from(([127, 0, 0, 1], daemon)))
        .await
}

/// 64 requests whose bodies never come. A daemon may also refuse them at once.
async fn hold_turns(port: u16) -> Vec<std::net::TcpStream> {
    let slow = "POST /inject-fault HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{";
    let mut held = Vec::new();
    for _ in 0..64 {
        let stream = connect(0, port).await.unwrap();
        let mut stream = tls(stream, b"http/1.1").await.unwrap();
        let _ = stream.write_all(slow.as_bytes()).await;
        held.push(stream.into_inner().0.into_std().unwrap());
    }
    held
}

/// Status and body of the answer to these bytes.
async fn ask(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), request: &str) -> (u16, String) {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A daemon that closes without a word of parting has answered all the same.
    let _: io::Result<usize> = stream.read_to_end(&mut answer).await;
    let text = String::from_utf8_lossy(&answer).into_owned();
    let status = text.split(' ').nth(1).and_then(|word| word.parse().ok());
    (status.unwrap_or(0), text)
}

/// Returns the status of an answer; 0 if there is none.
pub async fn status(url: &str, method: Method, target: &str, body: &str) -> u16 {
    let client = Client::new(url).unwrap();
    let answer = client
        .send_body(method, target, body.to_owned().into())
        .await;
    answer.map_or(0, |answer| answer.status.as_u16())
}

#[test]
fn another_user_reads_and_changes_nothing() {
    if !can_be_others() {
        return;
    }
    let daemon = Start::new().arguments(ONE).ready();
    let url = daemon.url();
    as_user(STRANGER, async || {
        let ask = async |method, target, body| status(&url, method, target, body).await;
        for target in [
            "/healthz",
            "/v1/states",
            "/v1/plugins",
            "/metrics",
            "/machine-info",
        ] {
            assert_eq!(ask(Method::GET, target, "").await, 200, "{target}");
        }
        let check = "/v1/components/trigger-check?componentName=cpu";
        for (method, target, body) in [
            (Method::GET, check, ""),
            (Method::GET, "/v1/components/trigger-tag?tagName=cpu", ""),
            (
                Method::POST,
                "/v1/health-states/set-healthy?components=cpu",
                "",
            ),
            (Method::DELETE, "/v1/components?componentName=cpu", ""),
            (Method::POST, "/inject-fault", r#"{"xid":{"id":79}}"#),
            (Method::POST, "/v1/plugins", "[]"),
            (Method::PUT, "/v1/plugins", "[]"),
        ] {
            assert_eq!(ask(method, target, body).await, 403, "{target}");
        }
    });
    // Root does as before.
    let (status, _) = daemon.send(
        Method::GET,
        "/v1/components/trigger-check?componentName=cpu",
    );
    assert_eq!(status, 200);
}

/// What another user queued from a port must not run as root because root's next command gets that port.
#[test]
fn a_queued_request_does_not_become_that_of_the_next_user_of_its_port() {
    if !can_be_others() {
        return;
    }
    let daemon = Start::new().arguments(ONE).ready();
    let (port, url) = (daemon.port(), daemon.url());
    let mark = daemon.folder().join("ran-as-root");
    let spec = format!(
        "- plugin_name: evil\n  plugin_type: component\n  run_mode: auto\n  timeout: 10s\n  interval: 1m\n  \
         health_state_plugin:\n    steps:\n      - name: s\n        run_bash_script:\n          content_type: plaintext\n          \
         script: 'touch {}'\n",
        mark.display()
    );
    let plugin = format!(
        "POST /v1/plugins HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{spec}POST /v1/plug",
        spec.len()
    );
    // The attacker's part: all turns are taken, the plugin is queued, the connections are reset.
    let (held, ports) = as_user(STRANGER, async || {
        let held = hold_turns(port).await;
        let mut queued = Vec::new();
        let mut ports = Vec::new();
        for _ in 0..8 {
            let stream = connect(0, port).await.unwrap();
            ports.push(stream.local_addr().unwrap().port());
            let mut stream = tls(stream, b"http/1.1").await.unwrap();
            let _ = stream.write_all(plugin.as_bytes()).await;
            queued.push(stream);
        }
        // A daemon that is fooled has read them by now.
        tokio::time::sleep(Duration::from_secs(1)).await;
        (held, ports)
    });
    // Root's part: its commands get these ports. They say nothing yet.
    block_on(async {
        let mut root = Vec::new();
        for port_of_both in ports {
            let stream = connect(port_of_both, port).await.unwrap();
            root.push(tls(stream, b"http/1.1").await.unwrap());
        }
        drop(held);
        // What was queued has had its turn before this gets one.
        let check = "/v1/components/trigger-check?componentName=cpu";
        assert_eq!(status(&url, Method::GET, check, "").await, 200);
    });
    assert_eq!(daemon.get("/v1/plugins"), serde_json::Value::Null);
    assert!(!mark.exists());
}

/// Several tests share this process's files.
fn allow_many_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// Returns as many connections of one user as the daemon takes, of `count`. They ask nothing, and a daemon leaves them open
/// for longer than its clients wait.
fn idle_connections(uid: u32, daemon: u16, count: usize) -> Vec<std::net::TcpStream> {
    as_user(uid, async || {
        let mut idle = Vec::new();
        for _ in 0..count {
            let stream = TcpStream::connect(("127.0.0.1", daemon)).await.unwrap();
            let handshake = tokio::time::timeout(NOT_ACCEPTED, tls(stream, b"h2")).await;
            // A daemon that accepts no more connections does not answer.
            let Ok(handshake) = handshake else { break };
            if let Ok(mut stream) = handshake
                && stream.write_all(GREETING).await.is_ok()
            {
                idle.push(stream.into_inner().0.into_std().unwrap());
            }
        }
        idle
    })
}

/// Users of one person, or of several: together they take all connections of all but root.
#[test]
fn many_users_cannot_keep_others_out() {
    if !can_be_others() {
        return;
    }
    allow_many_files();
    let daemon = Start::new().arguments(ONE).ready();
    let (port, url) = (daemon.port(), daemon.url());
    let mut idle = Vec::new();
    for uid in 1..=6 {
        idle.extend(idle_connections(STRANGER + 100 + uid, port, 100));
    }
    // Those of root answer besides, and others do so that have none yet.
    assert_eq!(daemon.send(Method::GET, "/healthz").0, 200);
    for uid in 1..=3 {
        let other = as_user(STRANGER + 200 + uid, async || {
            status(&url, Method::GET, "/v1/states", "").await
        });
        assert_eq!(other, 200, "user {uid}");
    }
    drop(idle);
}

/// A server of another user on the port that a command of root asks: what it was sent after the handshake.
async fn impostor(listener: TcpListener) -> Vec<u8> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = tokio_rustls::rustls::crypto::ring::default_provider();
    let config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    listener.set_nonblocking(true).unwrap();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let mut stream = acceptor.accept(stream).await.unwrap();
    let mut sent = vec![0; 1 << 16];
    let length = stream.read(&mut sent).await.unwrap_or_default();
    sent.truncate(length);
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    let _ = stream.write_all(answer).await;
    sent
}

/// Another user listens on gpud's port before gpud does. Root's commands tell it nothing, and believe it nothing.
#[test]
fn commands_send_nothing_to_the_server_of_another_user() {
    if !can_be_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "correct-horse-battery-staple").unwrap();
    for command in [
        &["set-healthy", "--token-file", token.to_str().unwrap()][..],
        &["list-plugins"],
        &["status"],
    ] {
        let listener = as_user(STRANGER, async || TcpListener::bind("127.0.0.1:0").unwrap());
        let port = listener.local_addr().unwrap().port();
        thread::scope(|scope| {
            let run = scope.spawn(move || {
                let server = format!("--server=https://127.0.0.1:{port}");
                let output = gpud().args(command).arg(server).output().unwrap();
                let all = [output.stdout, output.stderr].concat();
                (
                    output.status.success(),
                    String::from_utf8_lossy(&all).into_owned(),
                )
            });
            let sent = as_user(STRANGER, async || impostor(listener).await);
            assert_eq!(String::from_utf8_lossy(&sent), "", "{command:?}");
            let (ok, said) = run.join().unwrap();
            assert!(
                !ok && said.contains("is served by user 12345"),
                "{command:?}: {said}"
            );
            assert!(said.contains("nothing was sent"), "{said}");
        });
    }
}

/// A process that waits for gpud's port gets it while gpud is started again. That silences nothing.
#[test]
fn a_user_who_has_the_port_does_not_stop_the_checks() {
    if !can_be_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let listener = as_user(STRANGER, async || TcpListener::bind("127.0.0.1:0").unwrap());
    let address = format!("--listen-address={}", listener.local_addr().unwrap());
    let daemon = Start::new()
        .folder(&folder.path().join("data"))
        .arguments(&["--components=os", &address])
        .spawn();
    let holder = format!(
        "the port is taken by user {STRANGER} (process {}, ",
        std::process::id()
    );
    let states = || {
        let mut socket = UnixStream::connect(daemon.socket()).ok()?;
        let request =
            "GET /v1/states?components=os HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        socket.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).ok()?;
        Some(answer)
    };
    eventually("os says it", || {
        states().filter(|answer| answer.contains(&holder) && answer.contains("Degraded"))
    });
    drop(listener);
    eventually("the port is served", || {
        daemon
            .log()
            .contains("can be reached over TCP now")
            .then_some(())
    });
    eventually("os is well", || {
        states().filter(|answer| !answer.contains(&holder))
    });
}

#[test]
fn a_start_with_a_port_of_its_own_user_ends() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let output = gpud()
        .args(["run", "--components=none", "--plugin-specs-file="])
        .arg("--data-dir")
        .arg(folder.path())
        .args(known_flags(&["--local-socket=none"]))
        .arg(format!(
            "--listen-address={}",
            listener.local_addr().unwrap()
        ))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let taken = said.contains("the port is taken by ");
    assert!(!output.status.success() && taken, "{said}");
}

#[test]
fn one_user_cannot_take_all_connections() {
    if !can_be_others() {
        return;
    }
    allow_many_files();
    let daemon = Start::new().arguments(ONE).ready();
    let (port, url) = (daemon.port(), daemon.url());
    let idle = idle_connections(STRANGER, port, 600);
    assert_eq!(daemon.send(Method::GET, "/healthz").0, 200);
    assert_eq!(daemon.send(Method::GET, "/v1/states").0, 200);
    let other = as_user(STRANGER + 1, async || {
        status(&url, Method::GET, "/v1/states", "").await
    });
    assert_eq!(other, 200);
    drop(idle);
    // And the user itself, once it has let go.
    eventually("the user is served again", || {
        let served = as_user(STRANGER, async || {
            status(&url, Method::GET, "/healthz", "").await
        });
        (served == 200).then_some(())
    });
}

#[test]
fn bodies_that_never_come_take_no_turns() {
    if !can_be_others() {
        return;
    }
    let daemon = Start::new().arguments(ONE).ready();
    let (port, url) = (daemon.port(), daemon.url());
    // Those of another user are refused before, those of root wait.
    let held = (
        as_user(STRANGER, async || hold_turns(port).await),
        block_on(hold_turns(port)),
    );
    assert_eq!(daemon.send(Method::GET, "/v1/states").0, 200);
    let other = as_user(STRANGER, async || {
        status(&url, Method::GET, "/v1/states", "").await
    });
    assert_eq!(other, 200);
    drop(held);
}

/// Sends a frame of HTTP/2 a million times, or until the daemon closes the connection, and returns how often.
async fn flood(daemon: u16, frame: &[u8]) -> usize {
    let stream = TcpStream::connect(("127.0.0.1", daemon)).await.unwrap();
    let stream = tls(stream, b"h2").await.unwrap();
    let (mut read, mut write) = tokio::io::split(stream);
    write.write_all(GREETING).await.unwrap();
    let drain = tokio::spawn(async move {
        let mut answers = [0; 4096];
        while read.read(&mut answers).await.is_ok_and(|bytes| bytes > 0) {}
    });
    let frames = frame.repeat(100);
    let mut sent = 0;
    while sent < 1_000_000 && write.write_all(&frames).await.is_ok() {
        sent += 100;
    }
    drain.abort();
    sent
}

#[test]
fn a_connection_that_only_sends_control_frames_is_cut() {
    let daemon = Start::new().arguments(ONE).ready();
    for (name, frame) in [
        ("PING", b"\0\0\x08\x06\0\0\0\0\0pingpong".as_slice()),
        ("SETTINGS", b"\0\0\0\x04\0\0\0\0\0".as_slice()),
    ] {
        let sent = block_on(flood(daemon.port(), frame));
        assert!(sent < 1_000_000, "{name}: the daemon answers them all");
        assert_eq!(daemon.send(Method::GET, "/healthz").0, 200, "{name}");
    }
}

fn browser(daemon: &Daemon, path: &str, headers: &str) -> (u16, String) {
    block_on(async {
        let stream = TcpStream::connect(("127.0.0.1", daemon.port()))
            .await
            .unwrap();
        let mut stream = tls(stream, b"http/1.1").await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
        ask(&mut stream, &request).await
    })
}

#[test]
fn pages_of_other_sites_and_foreign_names_are_refused() {
    let allowed = known_flags(&[
        "--allowed-hosts=gpu.example",
        "--allowed-origins=https://grafana.example",
    ]);
    let daemon = Start::new().arguments(ONE).arguments(&allowed).ready();
    let trigger = "/v1/components/trigger-check?componentName=cpu";
    for path in ["/healthz", "/v1/states", trigger, "/swagger/index.html"] {
        for headers in [
            "Host: evil.example\r\n",
            "Host: localhost\r\nOrigin: https://evil.example\r\n",
            "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n",
        ] {
            let (status, text) = browser(&daemon, path, headers);
            assert_eq!(status, 403, "{path} {headers} {text}");
            assert!(text.contains("--allowed-"), "{text}");
        }
        for headers in [
            "Host: gpu.example\r\n",
            "Host: 127.0.0.1:15132\r\n",
            "Host: localhost\r\n",
        ] {
            let (status, text) = browser(&daemon, path, headers);
            assert_eq!(status, 200, "{path} {headers} {text}");
            assert!(!text.to_lowercase().contains("access-control"), "{text}");
        }
    }
    let allowed = "Host: localhost\r\nOrigin: https://grafana.example\r\n";
    let (status, text) = browser(&daemon, "/v1/states", allowed);
    let header = "access-control-allow-origin: https://grafana.example\r\n";
    assert!(
        status == 200 && text.to_lowercase().contains(header),
        "{text}"
    );
}
