use super::*;
use gpud_sdk::Trigger;
use gpud_sdk::types::TimeoutInfo;

const LOADED: &str =
    "nvidia_uvm 4956160 2 - Live 0x0 (POE)\nnvidia 56000000 3 nvidia_uvm, Live 0x0 (POE)\n";
const BUILT_IN: &str = "kernel/fs/ext4/ext4.ko\nkernel/drivers/block/virtio-blk.ko\n";
const DATA: &str = r#"{"loaded_modules":["nvidia","nvidia_uvm"]}"#;

fn context() -> CheckContext {
    CheckContext {
        component: "kernel-module".into(),
        now: 1_800_000_000_000,
        trigger: Trigger::Scheduled,
        boot_id: "b-1".into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

struct Fake {
    loaded: Result<&'static str, AccessError>,
    built_in: Result<&'static str, AccessError>,
    folders: &'static [&'static str],
}

impl Machine for Fake {
    fn loaded(&self) -> Result<String, AccessError> {
        self.loaded.clone().map(str::to_owned)
    }

    fn built_in(&self) -> Result<String, AccessError> {
        self.built_in.clone().map(str::to_owned)
    }

    fn has_folder(&self, module: &str) -> Result<bool, AccessError> {
        Ok(self.folders.contains(&module))
    }
}

fn not_found<T>(what: &str) -> Result<T, AccessError> {
    Err(AccessError::NotFound(what.into()))
}

fn normal() -> Fake {
    Fake {
        loaded: Ok(LOADED),
        built_in: Ok(BUILT_IN),
        folders: &[],
    }
}

fn judged(required: &[&str], machine: &Fake) -> HealthState {
    let config = Config {
        modules_to_check: required.iter().map(|&name| name.to_owned()).collect(),
    };
    let mut report = judge(&context(), &config, machine);
    assert!(report.supported && report.events.is_empty() && report.metrics.is_empty());
    assert_eq!(report.states.len(), 1);
    report.states.remove(0)
}

fn short(state: &HealthState) -> (Health, &str, Option<&str>) {
    (state.health.clone(), &state.reason, state.error.as_deref())
}

fn shown(state: &HealthState) -> Option<&str> {
    state.extra_info.first().map(|(key, value)| {
        assert_eq!(key, "data");
        value.as_str()
    })
}

#[test]
fn modules_that_must_be_there() {
    let well = (Health::Healthy, "all modules are loaded", None);
    for (required, expected, data) in [
        (&[][..], well.clone(), DATA),
        (&["nvidia"], well.clone(), DATA),
        (&["nvidia-uvm", "nvidia_uvm"], well.clone(), DATA),
        (
            &["ext4", "virtio_blk"],
            well,
            r#"{"loaded_modules":["nvidia","nvidia_uvm"],"builtin_modules":["ext4","virtio_blk"]}"#,
        ),
        (
            &["ib_core", "nvidia", "nvidia-peermem"],
            (
                Health::Unhealthy,
                r#"missing modules: ["ib_core" "nvidia-peermem"]"#,
                None,
            ),
            DATA,
        ),
    ] {
        let state = judged(required, &normal());
        assert_eq!(short(&state), expected);
        assert_eq!(shown(&state), Some(data));
        assert_eq!(state.suggested_actions, None);
    }
}

#[test]
fn a_kernel_without_modules_is_no_trouble() {
    let machine = Fake {
        loaded: not_found("/proc/modules"),
        ..normal()
    };
    let state = judged(&[], &machine);
    assert_eq!(
        state,
        HealthState::healthy(&context(), "all modules are loaded")
    );
    let state = judged(&["ext4"], &machine);
    assert_eq!(state.health, Health::Healthy);
    assert_eq!(
        shown(&state),
        Some(r#"{"loaded_modules":[],"builtin_modules":["ext4"]}"#)
    );
}

#[test]
fn without_the_list_of_built_in_modules_nothing_is_blamed() {
    let machine = Fake {
        built_in: not_found("/lib/modules/6.1/modules.builtin"),
        folders: &["loop"],
        ..normal()
    };
    let state = judged(&["loop", "nvidia"], &machine);
    assert_eq!(
        short(&state),
        (Health::Healthy, "all modules are loaded", None)
    );
    let state = judged(&["loop", "nvidia-peermem"], &machine);
    assert_eq!(
        short(&state),
        (
            Health::Degraded,
            r#"missing modules: ["nvidia-peermem"]"#,
            Some(
                "cannot tell whether they are built into the kernel: /lib/modules/6.1/modules.builtin: not found"
            )
        )
    );
}

#[test]
fn unreadable_modules() {
    let timed_out = TimeoutInfo {
        what: "/proc/modules".into(),
        after_ms: 5000,
        last_good: None,
    };
    for (error, health, text) in [
        (
            AccessError::Denied("/proc/modules".into()),
            Health::Degraded,
            "/proc/modules: permission denied",
        ),
        (
            AccessError::TimedOut(timed_out),
            Health::Unhealthy,
            "/proc/modules: no answer for 5000 ms",
        ),
    ] {
        let machine = Fake {
            loaded: Err(error),
            ..normal()
        };
        let state = judged(&[], &machine);
        assert_eq!(
            short(&state),
            (health, &*format!("cannot be judged: {text}"), Some(text))
        );
        assert_eq!((shown(&state), state.evidence.len()), (None, 1));
    }
}

#[test]
fn garbage_is_no_module() {
    let machine = Fake {
        loaded: Ok("\u{fffd}\u{fffd}\0\n\n1 2 3 4 5 6\n"),
        ..normal()
    };
    let state = judged(&[], &machine);
    assert_eq!((short(&state).0, shown(&state)), (Health::Healthy, None));
}

#[test]
fn many_modules_fit_the_bound() {
    let names: Vec<String> = (0..20_000).map(|n| format!("module_{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = data(&names, &[]);
    assert!(text.len() <= MAX_DATA_BYTES && text.len() > MAX_DATA_BYTES / 4);
}

#[test]
fn a_long_list_of_missing_modules_fits_the_bound() {
    let names: Vec<String> = (0..256).map(|n| format!("{n:0>64}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let state = judged(&names, &normal());
    assert!(
        state.reason.len() <= 4096 && state.reason.ends_with("\"] and 204 more"),
        "{}",
        state.reason
    );
}
