//! Verdicts leave the node: the real daemon sends them to a real server on this machine.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use gpud_exports::{secret::SecretValue, webhook::signature};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    daemon::{Daemon, Start, eventually, gpud},
    hostile_clients::{STRANGER, as_user, can_be_others},
    spec_file::said,
};

const XID: &str = "accelerator-nvidia-error-xid";

/// One request.
#[derive(Debug, Clone)]
struct Got {
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Got {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        let value = found.map(|(_, value)| value.as_str());
        value.unwrap_or_else(|| panic!("no {name} in {:?}", self.headers))
    }

    fn events(&self) -> Vec<Value> {
        let value: Value = serde_json::from_slice(&self.body).unwrap();
        value.as_array().unwrap().clone()
    }
}

/// A server that notes requests, and answers them while `answers` is set.
struct Receiver {
    port: u16,
    got: Arc<Mutex<Vec<Got>>>,
    answers: Arc<AtomicBool>,
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = Self {
            port: listener.local_addr().unwrap().port(),
            got: Arc::default(),
            answers: Arc::new(AtomicBool::new(true)),
        };
        let (got, answers) = (Arc::clone(&receiver.got), Arc::clone(&receiver.answers));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (got, answers) = (Arc::clone(&got), Arc::clone(&answers));
                thread::spawn(move || serve(stream, &got, &answers));
            }
        });
        receiver
    }

    fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    fn events(&self) -> Vec<Value> {
        self.got().iter().flat_map(Got::events).collect()
    }

    /// Waits for an event of a component.
    fn event(&self, component: &str, kind: &str) -> Value {
        eventually("the event arrives", || {
            let events = self.events().into_iter();
            let mut fitting =
                events.filter(|event| event["component"] == component && event["type"] == kind);
            fitting.next()
        })
    }
}

/// Reads requests of one connection. One that is not answered stays open.
fn serve(stream: TcpStream, got: &Mutex<Vec<Got>>, answers: &AtomicBool) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':') {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let mut body = vec![0; length?.1.parse().ok()?];
        reader.read_exact(&mut body).ok()?;
        got.lock().unwrap().push(Got { headers, body });
        if answers.load(Ordering::SeqCst) {
            let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
            stream.write_all(answer).ok()?;
        }
    }
}

/// A kernel log, a file of exports and a key.
struct Site {
    folder: TempDir,
}

impl Site {
    fn new(exports: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let site = Self { folder };
        fs::write(site.kernel_log(), "").unwrap();
        fs::write(site.path("key"), "a key of this site\n").unwrap();
        site.write(exports);
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn kernel_log(&self) -> PathBuf {
        self.path("kmsg")
    }

    fn file(&self) -> String {
        self.path("exports.yaml").display().to_string()
    }

    fn write(&self, exports: &str) {
        let key = self.path("key").display().to_string();
        fs::write(self.path("exports.yaml"), exports.replace("KEY", &key)).unwrap();
    }

    fn start(&self) -> Daemon {
        let file = format!("--exports-file={}", self.file());
        Start::new()
            .kernel_log(self.kernel_log().to_str().unwrap())
            .folder(&self.path("data"))
            .arguments(&[&file])
            .ready()
    }

    /// Writes an Xid of a GPU into the kernel log.
    fn fall_off(&self, number: u32, bus: &str) {
        let mut log = fs::File::options()
            .append(true)
            .open(self.kernel_log())
            .unwrap();
        writeln!(
            log,
            "3,{number},60000000,-;NVRM: Xid (PCI:{bus}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
        )
        .unwrap();
    }
}

fn webhook(port: u16) -> String {
    format!(
        "exports:\n  - name: ops\n    kind: webhook\n    url: http://127.0.0.1:{port}/gpud\n    secret: file:KEY\n    \
         longest_pause: 200ms\n    timeout: 2s\n"
    )
}

fn is_signed(got: &Got) -> bool {
    let (id, time) = (got.header("webhook-id"), got.header("webhook-timestamp"));
    let key = SecretValue::new("a key of this site");
    got.header("webhook-signature") == signature(&key, id, time, &got.body).unwrap()
}

#[test]
fn an_xid_arrives_at_a_webhook_with_signature_and_id() {
    let receiver = Receiver::start();
    let site = Site::new(&webhook(receiver.port));
    let daemon = site.start();
    site.fall_off(1, "0000:d1:00");
    let event = receiver.event(XID, "dev.gpud.event.v1");
    assert_eq!(event["severity"], "fatal", "{event}");
    assert_eq!(event["data"]["event"]["name"], "error_xid");
    let id = event["id"].as_str().unwrap();
    assert_eq!(
        id.chars().nth(14),
        Some('7'),
        "{id} is no UUID of version 7"
    );
    let change = receiver.event(XID, "dev.gpud.health.changed.v1");
    assert_eq!(change["data"]["health"]["to"], "Unhealthy", "{change}");
    assert_eq!(
        change["data"]["health"]["suggested_actions"][0],
        "REBOOT_SYSTEM"
    );
    for got in receiver.got() {
        assert!(is_signed(&got));
        assert!(got.header("user-agent").starts_with("gpud/"));
    }

    let state = eventually("the export's state", || {
        let state = daemon.state("export-ops");
        let reason = state["reason"].as_str().unwrap_or_default().to_owned();
        (state["health"] == "Healthy" && reason.contains("delivered")).then_some(reason)
    });
    assert!(state.starts_with("webhook to http://127.0.0.1"), "{state}");
    eventually("the counters", || {
        let (_, metrics) = daemon.send(http::Method::GET, "/metrics");
        let metrics = String::from_utf8(metrics).unwrap();
        let name = "gpud_export_records_total{export=\"ops\",outcome=\"delivered\"}";
        let line = metrics.lines().find(|line| line.starts_with(name))?;
        let count = line.rsplit(' ').next()?.parse::<f64>().ok()?;
        (count >= 2.0).then_some(())
    });
    let config = daemon.get("/admin/config").to_string();
    assert!(
        !config.contains("a key of this site") && !config.contains("/gpud\""),
        "{config}"
    );
    assert!(!daemon.log().contains("a key of this site"));

    // After a restart nothing of it is sent once more.
    daemon.signal("-TERM");
    let (status, log) = daemon.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    let before = receiver.events().len();
    let daemon = site.start();
    site.fall_off(2, "0000:d2:00");
    let second = eventually("the second event", || {
        let events = receiver.events();
        let mut new = events.get(before..)?.iter();
        new.find(|event| event["component"] == XID).cloned()
    });
    assert!(second.to_string().contains("d2:00"), "{second}");
    drop(daemon);
}

#[test]
fn after_kill_9_between_send_and_acknowledgement_the_same_ids_come_again() {
    let receiver = Receiver::start();
    receiver.answers.store(false, Ordering::SeqCst);
    let site = Site::new(&webhook(receiver.port));
    let daemon = site.start();
    site.fall_off(1, "0000:d3:00");
    let event = receiver.event(XID, "dev.gpud.event.v1");
    daemon.signal("-KILL");
    daemon.wait();
    let before = receiver.got().len();
    receiver.answers.store(true, Ordering::SeqCst);
    let _daemon = site.start();
    let again = eventually("the event again", || {
        let got = receiver.got();
        let new = got.get(before..)?.iter().flat_map(Got::events);
        new.into_iter().find(|new| new["id"] == event["id"])
    });
    assert_eq!(again, event);
}

#[test]
fn edits_are_applied_and_a_wrong_one_changes_nothing() {
    let (first, second) = (Receiver::start(), Receiver::start());
    let site = Site::new(&webhook(first.port));
    let daemon = site.start();
    site.write("exports:\n  - name: ops\n    kind: webhook\n    urll: http://x\n");
    let state = eventually("the state of the file", || {
        let state = daemon.state("exports-file");
        (state["health"] == "Unhealthy").then_some(state)
    });
    let reason = state["reason"].as_str().unwrap();
    assert!(
        reason.contains("exports.yaml:4:5: unknown key `urll`") && reason.contains("still run"),
        "{reason}"
    );
    site.fall_off(1, "0000:d4:00");
    first.event(XID, "dev.gpud.event.v1");
    site.write(&webhook(second.port));
    eventually("the file is good again", || {
        (daemon.state("exports-file")["health"] == "Healthy").then_some(())
    });
    site.fall_off(2, "0000:d5:00");
    second.event(XID, "dev.gpud.event.v1");
    fs::remove_file(site.path("exports.yaml")).unwrap();
    eventually("the export ends with its file", || {
        let (status, _) = daemon.send(http::Method::GET, "/v1/states?components=export-ops");
        (status != 200).then_some(())
    });
}

/// Another user takes the port of a collector while that is down.
#[test]
fn a_program_of_another_user_gets_nothing_without_tls() {
    if !can_be_others() {
        return;
    }
    // The thread that it starts is the user's as well.
    let receiver = as_user(STRANGER, async || Receiver::start());
    let site = Site::new(&webhook(receiver.port));
    let daemon = site.start();
    site.fall_off(1, "0000:d7:00");
    let reason = eventually("the state says why", || {
        let state = daemon.state("export-ops");
        let reason = state["reason"].as_str()?.to_owned();
        reason
            .contains(&format!("is served by user {STRANGER}"))
            .then_some(reason)
    });
    assert!(reason.contains("peer_user"), "{reason}");
    assert!(receiver.got().is_empty());
    // The operator says that it is right.
    let named = format!("{}    peer_user: \"{STRANGER}\"\n", webhook(receiver.port));
    site.write(&named);
    receiver.event(XID, "dev.gpud.event.v1");
}

#[test]
fn nothing_is_sent_or_written_unless_it_is_configured() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("exports.yaml");
    let log = folder.path().join("kmsg");
    fs::write(&log, "").unwrap();
    let data = folder.path().join("data");
    let daemon = Start::new()
        .kernel_log(log.to_str().unwrap())
        .folder(&data)
        .arguments(&[&format!("--exports-file={}", missing.display())])
        .ready();
    let (_, metrics) = daemon.send(http::Method::GET, "/metrics");
    assert!(!String::from_utf8(metrics).unwrap().contains("gpud_export_"));
    let components = daemon.get("/v1/components").to_string();
    assert!(!components.contains("export"), "{components}");
    assert!(!data.join("exports").exists());
}

/// The single common case needs no file.
#[test]
fn a_webhook_may_come_from_a_flag_or_the_environment() {
    for from_environment in [false, true] {
        let receiver = Receiver::start();
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("kmsg");
        fs::write(
            &log,
            "3,1,60000000,-;NVRM: Xid (PCI:0000:d6:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n",
        )
        .unwrap();
        let url = format!("http://127.0.0.1:{}/hook", receiver.port);
        let start = Start::new().kernel_log(log.to_str().unwrap());
        let start = start.environment("GPUD_WEBHOOK_SECRET", "a key of this site");
        let daemon = match from_environment {
            true => start.environment("GPUD_WEBHOOK_URL", &url),
            false => start.arguments(&[&format!("--webhook-url={url}")]),
        };
        let daemon = daemon.arguments(&["--exports-file="]).ready();
        receiver.event(XID, "dev.gpud.event.v1");
        assert!(receiver.got().iter().all(is_signed));
        drop(daemon);
    }
}

/// Anybody on the machine can read what a script printed.
#[test]
fn scripts_get_no_variable_that_gpud_reads_as_a_secret() {
    let receiver = Receiver::start();
    let exports = format!(
        "exports:\n  - name: ops\n    kind: webhook\n    url: http://127.0.0.1:{}/hook\n    secret: env:SITE_PASS\n",
        receiver.port
    );
    let wrong = "exports: [{name: ops, kind: webhook, url: env:SITE_PASS, no_such_key: 1}]";
    for exports in [exports.as_str(), wrong] {
        let site = Site::new(exports);
        let specs = site.path("specs.yaml");
        fs::write(
            &specs,
            "- plugin_name: prints\n  plugin_type: component\n  run_mode: auto\n  interval: 10m\n  health_state_plugin:\n    steps:\n      - name: s\n        run_bash_script:\n          content_type: plaintext\n          script: env\n",
        )
        .unwrap();
        let daemon = Start::new()
            .kernel_log(site.kernel_log().to_str().unwrap())
            .folder(&site.path("data"))
            .environment("SITE_PASS", "hunter2")
            .environment("POSTGRES_PASSWORD", "hunter2")
            .environment("HTTP_AUTH_TOKEN", "hunter2")
            .environment("AWS_SECRET_ACCESS_KEY", "hunter2")
            .environment("AWS_SESSION_TOKEN", "hunter2")
            .environment("SITE_NAME", "of this site")
            .arguments(&[
                &format!("--exports-file={}", site.file()),
                &format!("--plugin-specs-file={}", specs.display()),
            ])
            .ready();
        let printed = eventually("the script ran", || {
            let state = daemon.state("prints");
            state["raw_output"].as_str().map(str::to_owned)
        });
        assert!(printed.contains("SITE_NAME=of this site"), "{printed}");
        assert!(!printed.contains("hunter2"), "{printed}");
    }
}

fn exports(words: &[&str], file: &Path) -> crate::spec_file::CommandOutput {
    let file = format!("--exports-file={}", file.display());
    said(gpud().arg("exports").args(words).arg(file))
}

#[test]
fn an_export_is_checked_tried_and_listed() {
    let receiver = Receiver::start();
    let site = Site::new(&webhook(receiver.port));
    let file = site.path("exports.yaml");
    let checked = said(gpud().args(["exports", "check"]).arg(&file));
    assert_eq!(checked.code, Some(0), "{}", checked.err);
    let tried = exports(&["test", "ops"], &file);
    assert_eq!(tried.code, Some(0), "{}", tried.err);
    assert!(tried.out.contains("was delivered, in"), "{}", tried.out);
    let events = receiver.events();
    assert_eq!(
        (events.len(), &events[0]["sample"]),
        (1, &Value::Bool(true))
    );
    assert!(is_signed(&receiver.got()[0]));
    let none = exports(&["test", "other"], &file);
    assert_eq!(none.code, Some(1));
    assert!(none.err.contains("it has ops"), "{}", none.err);

    let daemon = site.start();
    eventually("the daemon's export is listed", || {
        let listed = exports(&["list", "--json", "--server", &daemon.url()], &file);
        let document: Value = serde_json::from_str(&listed.out).ok()?;
        (document["exports"][0]["health"] == "Healthy").then_some(())
    });
    drop(daemon);

    site.write(&webhook(1));
    let failed = exports(&["test", "ops"], &file);
    assert_eq!(failed.code, Some(1));
    assert!(
        failed.err.contains("POST http://127.0.0.1:1") && failed.err.contains("refused"),
        "{}",
        failed.err
    );
    site.write("exports: [{name: ops}]");
    let wrong = said(gpud().args(["exports", "check"]).arg(&file));
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.err.contains("exports.yaml:1:"), "{}", wrong.err);
}
