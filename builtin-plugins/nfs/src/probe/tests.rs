use super::*;
use gpud_sdk::types::TimeoutInfo;
use std::cell::RefCell;
use std::collections::BTreeMap;

const MOUNTINFO: &str = "30 27 0:50 / /mnt/a rw - nfs4 srv:/a rw\n\
    31 27 0:51 / /mnt/b rw - lustre srv:/b rw\n\
    32 27 254:1 / /mnt/disk rw - ext4 /dev/vdb rw\n\
    33 27 0:53 / /mnt/auto rw - autofs /etc/auto rw\n\
    34 27 0:54 / /host/mnt/c rw - nfs srv:/c rw\n";
const NOW: u64 = 1_800_000_000_000;

/// A machine whose volumes keep files, and where single steps fail.
#[derive(Default)]
struct FakeVolume {
    /// What a step on a path gives instead of working.
    broken: Vec<(Step, &'static str, Result<Output, AccessError>)>,
    /// What asking for space gives.
    space: Vec<(&'static str, AccessError)>,
    mounts: Option<AccessError>,
    /// How long each program takes, milliseconds.
    takes: u64,
    /// Mounted when touched.
    automounts: bool,
    touched: RefCell<bool>,
    files: RefCell<BTreeMap<String, String>>,
    steps: RefCell<Vec<(Step, String)>>,
}

impl Machine for FakeVolume {
    fn mountinfo(&self) -> Result<String, AccessError> {
        if let Some(error) = &self.mounts {
            return Err(error.clone());
        }
        let mut text = MOUNTINFO.to_owned();
        if *self.touched.borrow() {
            text.push_str("35 27 0:55 / /mnt/auto rw - nfs4 srv:/auto rw\n");
        }
        Ok(text)
    }

    fn answers(&self, path: &str) -> Result<(), AccessError> {
        let found = self.space.iter().find(|(at, _)| *at == path);
        found.map_or(Ok(()), |(_, error)| Err(error.clone()))
    }

    fn run(
        &self,
        step: Step,
        variables: &[(&str, &str)],
        max_output: usize,
    ) -> Result<Output, AccessError> {
        let value = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map_or(String::new(), |(_, value)| (*value).to_owned())
        };
        let place = match step {
            Step::Touch => value(script::VOLUME),
            Step::Create => value(script::FOLDER),
            Step::Write | Step::Read | Step::Remove => value(script::FILE),
        };
        self.steps.borrow_mut().push((step, place.clone()));
        let broken = self
            .broken
            .iter()
            .find(|(at, begin, _)| *at == step && place.starts_with(begin));
        if let Some((_, _, answer)) = broken {
            return answer.clone();
        }
        let mut files = self.files.borrow_mut();
        let mut stdout = Vec::new();
        match step {
            Step::Touch => *self.touched.borrow_mut() = self.automounts,
            Step::Create => {}
            Step::Write => drop(files.insert(place, value(script::CONTENTS))),
            Step::Read => stdout = files[&place].clone().into_bytes(),
            Step::Remove => drop(files.remove(&place)),
        }
        assert!(max_output >= 4096 && max_output > stdout.len());
        Ok(Output {
            duration_ms: self.takes,
            stdout,
            ..exit(0, "")
        })
    }
}

fn exit(code: i32, stderr: &str) -> Output {
    Output {
        exit_code: Some(code),
        signal: None,
        stdout: Vec::new(),
        stderr: stderr.into(),
        truncated: false,
        duration_ms: 1,
    }
}

fn timed_out(what: &str) -> AccessError {
    AccessError::TimedOut(TimeoutInfo {
        what: what.into(),
        after_ms: 5000,
        last_good: None,
    })
}

fn group(volume: &str) -> Group {
    Group {
        volume_path: volume.into(),
        dir_name: "d".into(),
        file_contents: "hello\n".into(),
    }
}

fn config(volumes: &[&str]) -> Config {
    Config {
        groups: volumes.iter().map(|volume| group(volume)).collect(),
        host_root: String::new(),
    }
}

fn moment() -> ProbeContext<'static> {
    ProbeContext {
        id: "id-1",
        now: NOW,
        insists: false,
    }
}

fn tried(config: &Config, machine: &FakeVolume) -> (Health, String, String) {
    let outcome = probe(config, moment(), machine, &mut Memory::default());
    (
        outcome.health,
        outcome.reason,
        outcome.error.unwrap_or_default(),
    )
}

fn expect(config: &Config, machine: &FakeVolume, reason: &str, error: &str) {
    let expected = (Health::Degraded, reason.to_owned(), error.to_owned());
    assert_eq!(tried(config, machine), expected);
}

#[test]
fn volumes_that_work() {
    let machine = FakeVolume::default();
    let outcome = probe(
        &config(&["/mnt/a", "/mnt/b/"]),
        moment(),
        &machine,
        &mut Memory::default(),
    );
    let reason = "correctly read/wrote on \"/mnt/a\", \"/mnt/b/\"".to_owned();
    assert_eq!(outcome, Outcome::healthy(reason));
    let steps = machine.steps.borrow();
    let of = |volume: &str| {
        [
            (Step::Create, format!("{volume}/d")),
            (Step::Write, format!("{volume}/d/id-1")),
            (Step::Read, format!("{volume}/d/id-1")),
            (Step::Remove, format!("{volume}/d/id-1")),
        ]
    };
    assert_eq!(*steps, [of("/mnt/a"), of("/mnt/b")].concat());
    assert!(machine.files.borrow().is_empty(), "nothing is left");
    assert_eq!(
        tried(&Config::default(), &FakeVolume::default()),
        (
            Health::Healthy,
            "no nfs group configs found".into(),
            String::new()
        )
    );
}

#[test]
fn configurations_that_cannot_be_used() {
    let invalid = "invalid nfs group configs";
    let machine = FakeVolume {
        space: vec![
            ("/gone", AccessError::NotFound("/gone".into())),
            (
                "/stale",
                AccessError::Other("/stale: Stale file handle".into()),
            ),
        ],
        ..FakeVolume::default()
    };
    for (bad, error) in [
        (group(""), "volume path is empty"),
        (group("a"), "volume path is not absolute"),
        (group("/gone"), "\"/gone\" volume path does not exist"),
        (group("/stale"), "/stale: Stale file handle"),
        (
            Group {
                file_contents: String::new(),
                ..group("/mnt/a")
            },
            "file content is empty",
        ),
    ] {
        // All are looked at before anything is written.
        let mut config = config(&["/mnt/a"]);
        config.groups.push(bad);
        expect(&config, &machine, invalid, error);
    }
    assert!(machine.steps.borrow().is_empty());
    let nobody = ProbeContext { id: "", ..moment() };
    let outcome = probe(
        &config(&["/mnt/a"]),
        nobody,
        &machine,
        &mut Memory::default(),
    );
    assert_eq!(
        (outcome.reason.as_str(), outcome.error.as_deref()),
        (invalid, Some("ID is empty"))
    );
}

#[test]
fn a_silent_server_is_found_before_any_program_runs() {
    let machine = FakeVolume {
        space: vec![("/mnt/b", timed_out("/mnt/b"))],
        ..FakeVolume::default()
    };
    let outcome = probe(
        &config(&["/mnt/a", "/mnt/b"]),
        moment(),
        &machine,
        &mut Memory::default(),
    );
    assert_eq!(
        outcome,
        Outcome {
            health: Health::Degraded,
            reason: "NFS validation timed out - server may be unresponsive".into(),
            error: Some("/mnt/b: /mnt/b: no answer for 5000 ms".into()),
            volume: Some("/mnt/b".into()),
        }
    );
    assert!(machine.steps.borrow().is_empty());
}

#[test]
fn what_must_be_mounted() {
    let machine = FakeVolume::default();
    expect(
        &config(&["/mnt/a/below"]),
        &machine,
        "failed to find mount target device for /mnt/a/below",
        "nothing is mounted at \"/mnt/a/below\"",
    );
    expect(
        &config(&["/mnt/disk"]),
        &machine,
        "The user applied path \"/mnt/disk\" as NFS volume, but in fact the file system type \"ext4\" is not NFS.",
        "",
    );
    assert!(
        machine.steps.borrow().is_empty(),
        "nothing is written to a local disk"
    );
    expect(
        &config(&["/mnt/auto"]),
        &machine,
        "The user applied path \"/mnt/auto\" as NFS volume, but in fact the file system type \"autofs\" is not NFS.",
        "",
    );
    let unreadable = FakeVolume {
        mounts: Some(AccessError::Denied("/proc/self/mountinfo".into())),
        ..FakeVolume::default()
    };
    expect(
        &config(&["/mnt/a"]),
        &unreadable,
        "failed to find mount target device for /mnt/a",
        "/proc/self/mountinfo: permission denied",
    );
}

#[test]
fn an_automounter_is_woken() {
    let machine = FakeVolume {
        automounts: true,
        ..FakeVolume::default()
    };
    let (health, reason, _) = tried(&config(&["/mnt/auto"]), &machine);
    assert_eq!(
        (health, reason.as_str()),
        (Health::Healthy, "correctly read/wrote on \"/mnt/auto\"")
    );
    assert_eq!(
        machine.steps.borrow()[0],
        (Step::Touch, "/mnt/auto".to_owned())
    );
    let silent = FakeVolume {
        broken: vec![(Step::Touch, "/mnt/auto", Err(timed_out("bash script")))],
        ..FakeVolume::default()
    };
    expect(
        &config(&["/mnt/auto"]),
        &silent,
        "NFS validation timed out - server may be unresponsive",
        "/mnt/auto: bash script: no answer for 5000 ms",
    );
}

#[test]
fn every_step_that_fails_has_its_reason() {
    let full = || Ok(exit(1, "dd: error writing: No space left on device\n"));
    let full_text = "exit code 1: dd: error writing: No space left on device";
    let silent = || Err(timed_out("bash script"));
    let silent_text = "bash script: no answer for 5000 ms";
    let missing = || Err(AccessError::NotFound("bash".into()));
    let read_text = format!("failed to read file /mnt/a/d/id-1: {full_text}");
    let killed = || {
        Ok(Output {
            exit_code: None,
            signal: Some(9),
            ..exit(0, "")
        })
    };
    let other = || {
        Ok(Output {
            stdout: b"hello".to_vec(),
            ..exit(0, "")
        })
    };
    for (step, answer, reason, error) in [
        (
            Step::Create,
            silent(),
            "NFS checker creation timed out for /mnt/a - server may be unresponsive",
            silent_text,
        ),
        (
            Step::Create,
            full(),
            "failed to create nfs checker for /mnt/a",
            full_text,
        ),
        (
            Step::Create,
            missing(),
            "failed to create nfs checker for /mnt/a",
            "bash: not found",
        ),
        (
            Step::Write,
            silent(),
            "NFS write timed out for /mnt/a - server may be unresponsive",
            silent_text,
        ),
        (
            Step::Write,
            full(),
            "failed to write to nfs checker for /mnt/a",
            full_text,
        ),
        (
            Step::Write,
            killed(),
            "failed to write to nfs checker for /mnt/a",
            "ended by signal 9: ",
        ),
        (
            Step::Read,
            silent(),
            "NFS check timed out for /mnt/a - server may be unresponsive",
            silent_text,
        ),
        (
            Step::Read,
            full(),
            "failed to check nfs checker for /mnt/a",
            &read_text,
        ),
        (
            Step::Read,
            other(),
            "failed to check nfs checker for /mnt/a",
            "file \"/mnt/a/d/id-1\" has unexpected contents",
        ),
        (
            Step::Remove,
            full(),
            "failed to clean nfs checker for /mnt/a",
            full_text,
        ),
        (
            Step::Remove,
            silent(),
            "failed to clean nfs checker for /mnt/a",
            silent_text,
        ),
    ] {
        let machine = FakeVolume {
            broken: vec![(step, "/mnt/a", answer)],
            ..FakeVolume::default()
        };
        expect(&config(&["/mnt/a", "/mnt/b"]), &machine, reason, error);
        let steps = machine.steps.borrow();
        assert!(
            steps.iter().all(|(_, place)| place.starts_with("/mnt/a")),
            "the first failure ends it"
        );
    }
}

#[test]
fn a_volume_that_hangs_is_left_alone_for_a_while() {
    let config = config(&["/mnt/a"]);
    let silent = FakeVolume {
        broken: vec![(Step::Write, "/mnt/a", Err(timed_out("bash script")))],
        ..FakeVolume::default()
    };
    let mut memory = Memory::default();
    let at = |now, insists| ProbeContext {
        now,
        insists,
        ..moment()
    };
    let reason = "NFS write timed out for /mnt/a - server may be unresponsive";
    let mut runs = 0;
    for minute in 0..60 {
        let before = silent.steps.borrow().len();
        let outcome = probe(
            &config,
            at(NOW + minute * 60_000, false),
            &silent,
            &mut memory,
        );
        assert_eq!(
            (outcome.health, outcome.reason.as_str()),
            (Health::Degraded, reason)
        );
        runs += usize::from(silent.steps.borrow().len() > before);
    }
    assert_eq!(runs, 7, "at 0, 1, 3, 7, 14, 28 and 55 minutes");
    // A person is not kept waiting, and what works again is forgotten.
    let now = NOW + 60 * 60_000;
    let working = FakeVolume::default();
    assert_eq!(
        probe(&config, at(now, false), &working, &mut memory).health,
        Health::Degraded
    );
    assert_eq!(
        probe(&config, at(now, true), &working, &mut memory).health,
        Health::Healthy
    );
    assert_eq!(memory, Memory::default());
    // So is what is not configured any more.
    memory.hangs("/mnt/a", NOW, "r", "e");
    probe(&Config::default(), moment(), &working, &mut memory);
    assert_eq!(memory, Memory::default());
}

#[test]
fn slow_volumes_leave_the_rest_for_later() {
    let machine = FakeVolume {
        takes: 4_000,
        ..FakeVolume::default()
    };
    let (health, reason, _) = tried(&config(&["/mnt/a", "/mnt/b"]), &machine);
    assert_eq!(
        (health, reason.as_str()),
        (
            Health::Healthy,
            "correctly read/wrote on \"/mnt/a\"; no time for \"/mnt/b\""
        )
    );
}

#[test]
fn files_of_the_machine_from_a_container() {
    for (root, volume, first) in [
        ("/proc/1/root", "/mnt/a", "/proc/1/root/mnt/a/d"),
        ("/host", "/mnt/c", "/host/mnt/c/d"),
    ] {
        let machine = FakeVolume {
            // The jump through /proc is not followed by the host.
            space: vec![(
                "/proc/1/root/mnt/a",
                AccessError::Denied("/proc/1/root/mnt/a".into()),
            )],
            ..FakeVolume::default()
        };
        let mut config = config(&[volume]);
        config.host_root = root.into();
        let (health, reason, _) = tried(&config, &machine);
        assert_eq!(
            (health, reason),
            (
                Health::Healthy,
                format!("correctly read/wrote on {volume:?}")
            )
        );
        assert_eq!(machine.steps.borrow()[0].1, first);
    }
}

#[test]
fn long_names_fit_the_bounds() {
    let long = format!("/{}", "é".repeat(2_000));
    let machine = FakeVolume {
        space: vec![],
        ..FakeVolume::default()
    };
    let outcome = probe(
        &config(&[&long]),
        moment(),
        &machine,
        &mut Memory::default(),
    );
    assert!(outcome.reason.len() <= 4096 && outcome.error.unwrap().len() <= 4096);
    assert!(outcome.volume.unwrap().len() <= 256);
}
