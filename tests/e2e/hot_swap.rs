//! New versions of a running plugin: loaded between two runs, and taken back when they do not work.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use serde_json::Value;
use tempfile::TempDir;
use xtask::guests::{self, GuestSelection};

use crate::daemon::{Daemon, Start, eventually, gpud};

/// The components of `tests/hostile/examples`.
pub fn guest(name: &str) -> &'static [u8] {
    static GUESTS: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(|| {
        let host = Path::new(env!("CARGO_MANIFEST_DIR"));
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let what = GuestSelection::ExamplesOf("gpud-hostile".to_owned());
        let workspace = host.join("..").canonicalize().unwrap();
        let built = guests::build(&workspace, &target.join("guests"), &what).unwrap();
        let built = built.into_iter();
        built.map(|one| (one.name, one.bytes)).collect()
    });
    GUESTS
        .get(name)
        .unwrap_or_else(|| panic!("no guest {name} in tests/hostile/examples"))
}

/// The same component under another digest: with a section that nobody reads.
pub fn rebuilt(wasm: &[u8], build: u8) -> Vec<u8> {
    let section = [0, 7, 5, b'b', b'u', b'i', b'l', b'd', build];
    [wasm, &section].concat()
}

/// A daemon with one entry, `probe`.
pub struct Site {
    home: TempDir,
    daemon: Option<Daemon>,
}

impl Site {
    pub fn new(wasm: &[u8], rest: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("kmsg"), "").unwrap();
        let mut site = Self { home, daemon: None };
        site.put("probe.wasm", wasm);
        site.write_spec(rest);
        site.start();
        site
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// As a deployment does it: the file is there as a whole or not at all.
    pub fn put(&self, name: &str, content: &[u8]) {
        let new = self.path("new");
        fs::write(&new, content).unwrap();
        fs::rename(&new, self.path(name)).unwrap();
    }

    pub fn write_spec(&self, rest: &str) {
        let spec = format!(
            "- plugin_name: probe\n  plugin_type: wasm\n  path: probe.wasm\n  interval: 1h\n{rest}"
        );
        self.put("specs.yaml", spec.as_bytes());
    }

    pub fn start(&mut self) {
        self.daemon = None;
        let specs = self.path("specs.yaml").display().to_string();
        let daemon = Start::new()
            .folder(&self.path("data"))
            .kernel_log(self.path("kmsg").to_str().unwrap())
            .arguments(&["--plugin-specs-file", &specs, "--components", "none"])
            .spawn();
        eventually("it runs", || {
            let (status, body) = daemon.try_get("/v1/states?components=probe")?;
            let text = String::from_utf8_lossy(&body).into_owned();
            let waits = text.contains("Initializing") || text.contains("no data yet");
            (status == 200 && !waits).then_some(())
        });
        self.daemon = Some(daemon);
    }

    pub fn restart(&mut self) {
        let daemon = self.daemon.take().unwrap();
        daemon.signal("-TERM");
        assert!(daemon.wait().0.success());
        self.start();
    }

    pub fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().unwrap()
    }

    /// Returns the version in `/v1/plugins`.
    fn version(&self) -> Value {
        self.daemon().get("/v1/plugins")[0]["running_version"].clone()
    }

    fn digest(&self) -> String {
        let version = self.version();
        version["digest"].as_str().unwrap_or_default().to_owned()
    }

    pub fn trigger(&self) -> Value {
        let checked = self
            .daemon()
            .get("/v1/components/trigger-check?componentName=probe");
        checked[0]["states"][0].clone()
    }

    /// Three good checks, and the record of it is written.
    fn pass_probation(&self) {
        self.pass_probation_with("all well");
    }

    /// The same of a component that gives this reason.
    fn pass_probation_with(&self, reason: &str) {
        for _ in 0..3 {
            assert_eq!(self.trigger()["reason"], reason);
        }
        let digest = self.digest();
        let sum = digest.strip_prefix("sha256:").unwrap();
        let good = format!("\"good\":[{{\"version\":{{\"file\":\"{sum}\"");
        eventually("it counts as one that works", || {
            let on = self.version()["on_probation"] == true;
            let kept = fs::read_dir(self.path("data/plugin-versions")).unwrap();
            let paths = kept.map(|entry| entry.unwrap().path());
            // What is being written is not there yet.
            let records = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
            let mut texts = records.map(|record| fs::read(record).unwrap_or_default());
            let noted = texts.any(|text| String::from_utf8_lossy(&text).contains(&good));
            (!on && noted).then_some(())
        });
    }

    /// Puts a version in place that is loaded.
    fn swap(&self, wasm: &[u8]) -> String {
        let before = self.digest();
        self.put("probe.wasm", wasm);
        eventually("the new version is loaded", || {
            Some(self.digest()).filter(|digest| *digest != before)
        })
    }

    fn events(&self, name: &str) -> Vec<Value> {
        let mut events = self.daemon().events("probe");
        events.retain(|event| event["name"] == name);
        events
    }

    pub fn log_line(&self, number: u32) {
        let mut log = fs::File::options()
            .append(true)
            .open(self.path("kmsg"))
            .unwrap();
        log.write_all(format!("3,{number},{number}000000,-;gpud-swap {number}\n").as_bytes())
            .unwrap();
    }

    /// Messages of the guest's events, oldest first.
    fn counted(&self) -> Vec<String> {
        let events = self.events("counted").into_iter().rev();
        events
            .map(|event| event["message"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[test]
fn a_version_that_traps_is_taken_back_and_not_tried_again() {
    let good = guest("well_behaved");
    let mut site = Site::new(good, "");
    let first = site.digest();
    assert_eq!(site.version()["on_probation"], true);
    site.pass_probation();

    let second = site.swap(guest("trap"));
    assert_eq!(site.version()["on_probation"], true);
    assert_eq!(site.daemon().state("probe")["reason"], "all well");
    let answer = site.trigger();
    assert!(
        answer["reason"].as_str().unwrap().contains("trapped"),
        "{answer}"
    );
    let back = |site: &Site| {
        let version = eventually("the version before is back", || {
            Some(site.version()).filter(|version| version["digest"] == first.as_str())
        });
        let back = &version["rolled_back"];
        assert_eq!(back["digest"], second.as_str());
        let reason = back["reason"].as_str().unwrap();
        assert!(reason.starts_with("it trapped: "), "{reason}");
        let state = eventually("its state says so", || {
            let state = site.daemon().state("probe");
            state["error"].is_string().then_some(state)
        });
        assert_eq!(
            (state["health"].as_str(), state["reason"].as_str()),
            (Some("Healthy"), Some("all well"))
        );
        let error = state["error"].as_str().unwrap();
        assert!(error.contains("was taken back: it trapped"), "{error}");
    };
    back(&site);
    let event = eventually("the event", || site.events("plugin_rolled_back").pop());
    assert_eq!(event["type"], "Warning");
    let message = event["message"].as_str().unwrap();
    for part in [first.as_str(), second.as_str(), "it trapped: "] {
        assert!(message.contains(part), "{part}: {message}");
    }

    // The same bytes again, and a restart: it is not tried.
    let applied = || site.daemon().log().matches("plugin specs applied").count();
    let before = applied();
    site.put("probe.wasm", guest("trap"));
    eventually("the file is looked at", || {
        (applied() > before).then_some(())
    });
    back(&site);
    site.restart();
    back(&site);
    assert_eq!(site.trigger()["reason"], "all well");
    assert_eq!(site.events("plugin_rolled_back").len(), 1);

    // A better one is.
    let third = site.swap(&rebuilt(good, 3));
    assert_ne!(third, first);
    assert_eq!(site.version()["rolled_back"], Value::Null);
    site.pass_probation();
    site.restart();
    assert_eq!(site.digest(), third);
    assert_eq!(site.version()["on_probation"], false);
    assert_eq!(site.daemon().state("probe")["error"], Value::Null);
}

#[test]
fn a_plugin_that_does_not_apply_says_why_and_its_rollback_is_seen() {
    let site = Site::new(guest("not_here"), "");
    let daemon = site.daemon();
    let why = "not applicable here: no fans";
    assert_eq!(site.trigger()["reason"], why);
    assert_eq!(daemon.get("/v1/states?components=probe"), Value::Null);
    let plugin = daemon.get("/v1/plugins")[0].clone();
    assert_eq!(plugin["not_applicable"]["probe"], why);
    let detail = daemon.get("/v1/components?detail")[0].clone();
    assert_eq!(detail["applicable"], false);
    assert_eq!(detail["reason"], why);
    let listed = gpud()
        .args(["list-plugins", "--server", &daemon.url()])
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(
        listed.contains("- probe (Type: wasm") && listed.contains(why),
        "{listed}"
    );

    site.pass_probation_with(why);
    site.swap(guest("trap"));
    site.trigger();
    eventually("the rollback is an event", || {
        site.events("plugin_rolled_back").pop()
    });
}

#[test]
fn no_kernel_message_is_missed_and_values_are_handed_over() {
    let good = guest("counts_messages");
    let site = Site::new(good, "  grants: { kmsg: true, state: true }\n");
    let counted = |upto: u32| {
        eventually("the messages are counted", || {
            let found = site.counted();
            (found.len() >= upto as usize).then_some(found)
        })
    };
    let expected =
        |upto: u32| -> Vec<String> { (1..=upto).map(|n| format!("{n}: gpud-swap {n}")).collect() };
    (1..=3).for_each(|n| site.log_line(n));
    assert_eq!(counted(3), expected(3));
    site.pass_probation();

    // Lines come before, while and after the versions change places.
    site.put("probe.wasm", &rebuilt(good, 2));
    let first = site.digest();
    for n in 4..=40 {
        site.log_line(n);
        std::thread::sleep(std::time::Duration::from_millis(60));
    }
    eventually("the new version is loaded", || {
        (site.digest() != first).then_some(())
    });
    site.log_line(41);
    assert_eq!(counted(41), expected(41), "each once and in order");
    site.pass_probation();

    // One that panics on what the kernel says loses nothing of it either.
    let second = site.digest();
    site.swap(guest("drops_messages"));
    for _ in 0..3 {
        site.trigger();
    }
    site.log_line(42);
    site.log_line(43);
    assert_eq!(counted(43), expected(43));
    assert_eq!(site.digest(), second);
    let event = eventually("the event", || site.events("plugin_rolled_back").pop());
    let message = event["message"].as_str().unwrap();
    assert!(
        message.contains("on kernel messages it trapped"),
        "{message}"
    );
}

#[test]
fn a_version_that_asks_for_more_waits_for_the_operator() {
    let mut site = Site::new(guest("well_behaved"), "");
    let first = site.digest();
    site.pass_probation();
    site.put("probe.wasm", guest("imports_exec"));
    let event = eventually("the refusal", || {
        site.events("plugin_version_refused").pop()
    });
    let message = event["message"].as_str().unwrap();
    for part in [
        first.as_str(),
        "`exec`",
        "`sysfs`",
        "under `grants:`",
        "specs.yaml:",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let shown = site.daemon().state("plugin-specs");
    let shown = shown["reason"].as_str().unwrap();
    assert!(shown.contains("without a grant"), "{shown}");
    assert_eq!(site.digest(), first);
    assert_eq!(site.trigger()["reason"], "all well");

    // A restart changes nothing: the version that was approved is kept.
    site.restart();
    assert_eq!(site.digest(), first);
    let back = site.version()["rolled_back"].clone();
    let reason = back["reason"].as_str().unwrap();
    assert!(reason.contains("without a grant"), "{reason}");
    assert_eq!(site.trigger()["reason"], "all well");

    // Grants that are taken away are not handed to a version of before.
    site.write_spec("  grants: { exec: [id], sysfs: [/proc/uptime] }\n");
    eventually("the operator has approved", || {
        (site.digest() != first).then_some(())
    });
    assert_eq!(site.version()["rolled_back"], Value::Null);
}

#[test]
fn a_version_before_gets_no_grant_that_was_taken_away() {
    let good = guest("counts_messages");
    let mut site = Site::new(good, "  grants: { kmsg: true, state: true }\n");
    let first = site.digest();
    site.pass_probation();
    // Less is granted, and the new version is none: nothing may run with what the operator took away.
    site.daemon = None;
    site.write_spec("  grants: { kmsg: true }\n");
    site.put("probe.wasm", b"\0asm broken");
    site.start();
    assert_ne!(site.digest(), first);
    let state = site.daemon().state("probe");
    assert_eq!(state["health"], "Unhealthy");
    let reason = state["reason"].as_str().unwrap();
    for part in ["could not be loaded", "the version before it", "`state`"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }

    // The same with its grants: the version before runs.
    site.daemon = None;
    site.write_spec("  grants: { kmsg: true, state: true }\n");
    site.start();
    assert_eq!(site.digest(), first);
    let event = eventually("the event", || site.events("plugin_rolled_back").pop());
    let message = event["message"].as_str().unwrap();
    assert!(message.contains("it could not be loaded"), "{message}");
}
