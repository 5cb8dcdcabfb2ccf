//! What the daemon tells systemd, and what it makes of signals.

use std::{
    fs,
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixDatagram},
    },
    time::Duration,
};

use crate::daemon::{PATIENCE, Start, eventually};

fn receive(socket: &UnixDatagram) -> String {
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut buffer = [0; 4096];
    let length = socket.recv(&mut buffer).unwrap();
    String::from_utf8_lossy(&buffer[..length]).into_owned()
}

#[test]
fn ready_reload_and_stop_reach_systemd() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    // The environment of plugins shows what the daemon's children see.
    let specs = folder.path().join("specs.yaml");
    fs::write(&specs, spec("first")).unwrap();
    let log = folder.path().join("gpud.log");
    let daemon = Start::new()
        .environment("NOTIFY_SOCKET", path.to_str().unwrap())
        .arguments(&[
            "--plugin-specs-file",
            specs.to_str().unwrap(),
            "--log-file",
            log.to_str().unwrap(),
            "--components=cpu",
        ])
        .spawn();
    let ready = receive(&socket);
    assert!(
        ready.starts_with("READY=1\nSTATUS=serving at 127.0.0.1:"),
        "{ready}"
    );
    let (status, _) = daemon
        .try_get("/healthz")
        .expect("ready means that it answers");
    assert_eq!(status, 200);
    eventually("the plugin has run", || {
        let state = daemon.try_get("/v1/states?components=first")?;
        String::from_utf8_lossy(&state.1)
            .contains("socket=none")
            .then_some(())
    });

    fs::rename(&log, folder.path().join("gpud.log-1")).unwrap();
    fs::write(&specs, spec("second")).unwrap();
    daemon.signal("-HUP");
    let reloading = receive(&socket);
    assert!(
        reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="),
        "{reloading}"
    );
    assert!(receive(&socket).starts_with("READY=1\n"));
    // At once, not after the usual two looks.
    let (_, body) = daemon.send(http::Method::GET, "/v1/plugins");
    assert!(String::from_utf8_lossy(&body).contains("\"second\""));
    eventually("the new log file has lines", || {
        let text = fs::read_to_string(&log).ok()?;
        text.contains("SIGHUP: settings were read again")
            .then_some(())
    });

    daemon.signal("-TERM");
    assert_eq!(receive(&socket), "STOPPING=1");
    let (status, _) = daemon.wait();
    assert_eq!(status.code(), Some(0));
}

fn spec(name: &str) -> String {
    format!(
        "- plugin_name: {name}\n  plugin_type: component\n  run_mode: auto\n  timeout: 10s\n  interval: 1m\n  \
         health_state_plugin:\n    steps:\n      - name: look\n        run_bash_script:\n          content_type: plaintext\n          \
         script: 'echo \"socket=${{NOTIFY_SOCKET-none}}${{WATCHDOG_USEC-}}\"'\n"
    )
}

#[test]
fn signs_of_life_come_through_an_abstract_socket() {
    let name = format!("gpud-e2e-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let socket = UnixDatagram::bind_addr(&address).unwrap();
    let daemon = Start::new()
        .environment("NOTIFY_SOCKET", &format!("@{name}"))
        .environment("WATCHDOG_USEC", "1000000")
        .arguments(&["--plugin-specs-file=", "--components=cpu"])
        .spawn();
    assert!(receive(&socket).starts_with("READY=1\n"));
    for _ in 0..4 {
        assert_eq!(receive(&socket), "WATCHDOG=1");
    }
    // A daemon that is stopped in its tracks gives none.
    daemon.signal("-STOP");
    std::thread::sleep(Duration::from_millis(300));
    socket.set_nonblocking(true).unwrap();
    while socket.recv(&mut [0; 64]).is_ok() {}
    std::thread::sleep(Duration::from_millis(1200));
    assert!(socket.recv(&mut [0; 64]).is_err());
    daemon.signal("-CONT");
}

#[test]
fn sigusr1_writes_what_the_threads_do_and_the_daemon_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Start::new()
        .environment("TMPDIR", folder.path().to_str().unwrap())
        .arguments(&["--components=cpu"])
        .ready();
    daemon.signal("-USR1");
    let path = folder
        .path()
        .join(format!("gpud.{}.stacks.log", daemon.pid()));
    let text = eventually("the file is written", || {
        let text = fs::read_to_string(&path).ok()?;
        text.contains("gpud-store").then_some(text)
    });
    assert!(text.contains("worker threads"), "{text}");
    // Without a spec file or a log file there is nothing to reload, and it does no harm.
    daemon.signal("-HUP");
    eventually("the log tells", || {
        daemon
            .log()
            .contains("SIGHUP: settings were read again")
            .then_some(())
    });
    assert_eq!(daemon.state("cpu")["health"], "Healthy");
}
