use super::*;
use gpud_sdk::types::TimeoutInfo;
use gpud_sdk::{Health, Trigger};

mod unread;

const NEEDS: &str = "found some acs enabled devices (needs to be disabled)";
const NONE: &str = "non-KVM host env, no acs enabled device found (no need to disable)";

fn context() -> CheckContext {
    CheckContext {
        component: "pci".into(),
        now: 1_800_000_000_000,
        trigger: Trigger::Scheduled,
        boot_id: "b-1".into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

struct Fake {
    vm: Result<&'static str, AccessError>,
    kind: Result<&'static str, AccessError>,
    devices: Result<Vec<Device>, AccessError>,
}

impl Machine for Fake {
    fn virtualization(&self, arguments: &[&str]) -> Result<String, AccessError> {
        let answer = match arguments {
            ["--vm"] => &self.vm,
            [] => &self.kind,
            _ => panic!("{arguments:?}"),
        };
        answer.clone().map(str::to_owned)
    }

    fn devices(&self) -> Result<Vec<Device>, AccessError> {
        self.devices.clone()
    }
}

fn metal(devices: Vec<Device>) -> Fake {
    Fake {
        vm: Ok("none"),
        kind: Ok("none"),
        devices: Ok(devices),
    }
}

fn device(address: &str, uevent: &str, config: Vec<u8>) -> Device {
    let mut device = Device::new(address, uevent).unwrap();
    device.name = "name".into();
    device.config = Ok(config);
    device
}

/// A configuration space with this ACS control register.
fn with_acs(control: u8) -> Vec<u8> {
    let mut config = vec![0; 4096];
    config[0x100..0x108].copy_from_slice(&[0x0d, 0, 1, 0, 0x1f, 0, control, 0]);
    config
}

fn gpu(address: &str) -> Device {
    device(
        address,
        "DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:2330\n",
        vec![0; 4096],
    )
}

fn card(address: &str) -> Device {
    device(
        address,
        "PCI_CLASS=20700\nPCI_ID=15B3:1021\n",
        vec![0; 4096],
    )
}

fn port(address: &str, control: u8) -> Device {
    device(
        address,
        "DRIVER=pcieport\nPCI_CLASS=60400\nPCI_ID=8086:352A\n",
        with_acs(control),
    )
}

fn short(report: &Report) -> (Health, &str, Option<&str>) {
    assert_eq!(report.states.len(), 1);
    let state = &report.states[0];
    (state.health.clone(), &state.reason, state.error.as_deref())
}

#[test]
fn where_nothing_is_looked_at() {
    let timed_out = || {
        Err(AccessError::TimedOut(TimeoutInfo {
            what: "systemd-detect-virt".into(),
            after_ms: 5000,
            last_good: None,
        }))
    };
    let missing = || Err(AccessError::NotFound("systemd-detect-virt".into()));
    let kvm = "host virt env is KVM (no need to check ACS)";
    let unknown = "unknown virtualization environment (no need to check ACS)";
    for (vm, kind, reason, error) in [
        (Ok("kvm"), Ok("kvm"), kvm, None),
        (Ok("kvm"), Ok("docker"), kvm, None),
        (missing(), missing(), unknown, None),
        (Ok(""), Ok(""), unknown, None),
        (Ok("none"), Ok(""), unknown, None),
        (
            timed_out(),
            Ok("none"),
            unknown,
            Some("systemd-detect-virt: no answer for 5000 ms"),
        ),
        (
            Ok("none"),
            timed_out(),
            unknown,
            Some("systemd-detect-virt: no answer for 5000 ms"),
        ),
    ] {
        let machine = Fake {
            vm,
            kind,
            devices: Err(AccessError::Other("nobody asks".into())),
        };
        let report = check(&context(), &machine);
        assert_eq!(short(&report), (Health::Healthy, reason, error));
        assert!(report.events.is_empty() && report.states[0].extra_info.is_empty());
    }
}

#[test]
fn acs_between_gpus_is_an_event() {
    let devices = vec![
        port("0000:3a:01.0", 0x1d),
        gpu("0000:3b:00.0"),
        port("0000:5a:01.0", 0x1f),
        gpu("0000:5b:00.0"),
        // Redirection without source validation is not what GPUd's users know as enabled.
        port("0000:7a:01.0", 0x1c),
    ];
    let report = check(&context(), &metal(devices));
    assert_eq!(short(&report), (Health::Healthy, NEEDS, None));
    let event = &report.events[0];
    assert_eq!(
        (
            event.name.as_str(),
            &event.event_type,
            event.message.as_str()
        ),
        (
            "acs_enabled",
            &EventType::Warning,
            "host virt env is \"none\", ACS is enabled on the following PCI devices: 3a:01.0, 5a:01.0 (needs to be disabled)"
        )
    );
    assert_eq!(event.merge.as_ref().unwrap().window_seconds, 86_400);
    assert_eq!(report.events.len(), 1);
    let files = ["3a:01.0", "5a:01.0"]
        .map(|id| Evidence::File(format!("/sys/bus/pci/devices/0000:{id}/config")));
    assert_eq!(report.states[0].evidence, files);
    assert_eq!(report.states[0].suggested_actions, None);
}

#[test]
fn data_as_lspci_would_tell_it() {
    let report = check(
        &context(),
        &metal(vec![port("0000:3a:01.0", 0x1d), card("0000:3b:00.0")]),
    );
    let data = r#"{"devices":[{"id":"3a:01.0","name":"name","access_control_service":{"acs_cap":{"src_valid":true,"trans_blk":true,"req_redir":true,"cmplt_redir":true,"upstream_fwd":true,"egress_ctrl":false,"direct_trans":false},"acs_ctl":{"src_valid":true,"trans_blk":false,"req_redir":true,"cmplt_redir":true,"upstream_fwd":true,"egress_ctrl":false,"direct_trans":false}},"kernel_driver_in_use":"pcieport"},{"id":"3b:00.0","name":"name"}]}"#;
    assert_eq!(
        report.states[0].extra_info,
        [("data".to_owned(), data.to_owned())]
    );
    // One device in another domain, and all have theirs.
    let report = check(
        &context(),
        &metal(vec![port("0000:3a:01.0", 0), card("10000:3b:00.0")]),
    );
    let data = &report.states[0].extra_info[0].1;
    assert!(data.contains("\"id\":\"0000:3a:01.0\"") && data.contains("\"id\":\"10000:3b:00.0\""));
}

#[test]
fn who_it_matters_to() {
    let on = || port("0000:00:01.0", 0x1d);
    let off = || port("0000:00:01.0", 0);
    let needless =
        "non-KVM host env, acs enabled devices found but no GPU with a peer (no need to disable)";
    for (devices, reason, events) in [
        (vec![], NONE, 0),
        (vec![off()], NONE, 0),
        (
            vec![off(), gpu("0000:01:00.0"), gpu("0000:02:00.0")],
            NONE,
            0,
        ),
        (
            vec![on(), gpu("0000:01:00.0"), gpu("0000:02:00.0")],
            NEEDS,
            1,
        ),
        (
            vec![on(), gpu("0000:01:00.0"), card("0000:02:00.0")],
            NEEDS,
            1,
        ),
        // A laptop with a GPU, a server without one.
        (vec![on(), gpu("0000:01:00.0")], needless, 0),
        (
            vec![on(), card("0000:01:00.0"), card("0000:02:00.0")],
            needless,
            0,
        ),
    ] {
        let report = check(&context(), &metal(devices));
        assert_eq!(short(&report), (Health::Healthy, reason, None));
        assert_eq!(report.events.len(), events);
    }
}

#[test]
fn other_hypervisors_are_looked_at_like_bare_metal() {
    for kind in ["vmware", "microsoft", "amazon", "docker"] {
        let machine = Fake {
            vm: Ok(if kind == "docker" { "none" } else { kind }),
            kind: Ok(kind),
            devices: Ok(vec![
                port("0000:00:01.0", 0x1d),
                gpu("0000:01:00.0"),
                gpu("0000:02:00.0"),
            ]),
        };
        let report = check(&context(), &machine);
        let begin = format!("host virt env is \"{kind}\", ACS");
        assert!(report.events[0].message.starts_with(&begin), "{kind}");
    }
}

#[test]
fn a_large_machine_fits_the_bounds() {
    let mut devices = vec![gpu("0000:00:00.0"), gpu("0000:00:00.1")];
    for bus in 0..=255 {
        devices.push(port(&format!("0000:{bus:02x}:01.0"), 0x1d));
        devices.push(port(&format!("0001:{bus:02x}:01.0"), 0x1d));
        devices.push(card(&format!("0000:{bus:02x}:02.0")));
    }
    let report = check(&context(), &metal(devices));
    let message = &report.events[0].message;
    assert!(
        message.len() <= 4096 && message.contains(" more (needs to be disabled)"),
        "{message}"
    );
    assert!(report.events[0].merge.as_ref().unwrap().key.len() <= 16 * 1024);
    let data = &report.states[0].extra_info[0].1;
    assert!(data.len() <= MAX_DATA_BYTES && !data.contains("\"3b:02.0\""));
}
