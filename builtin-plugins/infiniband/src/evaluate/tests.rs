//! Verdicts on one reading of a machine; tests over time are in [`timelines`].

use std::cell::{Cell, RefCell};

use gpud_sdk::nvml::Library;
use gpud_sdk::{Health, Trigger};

use super::*;
use crate::class::tests::{Map, ROOT, timed_out};

mod document;
mod sources;
mod timelines;

/// 2025-03-01T08:00:00Z.
pub const START: u64 = 1_740_816_000;

/// A machine that is a map, with a store.
pub struct Fake {
    pub map: Map,
    pub kept: RefCell<Option<String>>,
    pub writes: Cell<usize>,
    pub marks: RefCell<Vec<u64>>,
    pub events: bool,
    pub remembers: bool,
    pub pci: Vec<String>,
    /// What fails: `get`, `set`, `marks`, `pci` or nothing.
    pub fails: Cell<&'static str>,
}

impl Fake {
    pub fn of(map: Map) -> Self {
        Self {
            map,
            kept: RefCell::default(),
            writes: Cell::default(),
            marks: RefCell::default(),
            events: false,
            remembers: true,
            pci: Vec::new(),
            fails: Cell::default(),
        }
    }

    fn fails(&self, what: &str) -> Result<(), AccessError> {
        if self.fails.get() == what {
            return Err(AccessError::Other("disk full".into()));
        }
        Ok(())
    }
}

impl Tree for Fake {
    fn names(&self, folder: &str) -> Result<Vec<String>, AccessError> {
        self.map.names(folder)
    }

    fn text(&self, path: &str) -> Result<String, AccessError> {
        self.map.text(path)
    }
}

impl Machine for Fake {
    fn has_events(&self) -> Result<bool, AccessError> {
        self.fails("events").map(|()| self.events)
    }

    fn remembers(&self) -> bool {
        self.remembers
    }

    fn saved(&self) -> Result<Option<String>, AccessError> {
        self.fails("get").map(|()| self.kept.borrow().clone())
    }

    fn save(&self, text: &str) -> Result<(), AccessError> {
        self.fails("set")?;
        self.writes.set(self.writes.get() + 1);
        *self.kept.borrow_mut() = Some(text.to_owned());
        Ok(())
    }

    fn pci_devices(&self) -> Result<Vec<String>, AccessError> {
        self.fails("pci").map(|()| self.pci.clone())
    }

    fn set_healthy_after(&self, time: u64) -> Result<Option<u64>, AccessError> {
        self.fails("marks")?;
        let marks = self.marks.borrow();
        Ok(marks.iter().copied().filter(|mark| *mark > time).max())
    }
}

pub fn context(now: u64, boot: &str) -> CheckContext {
    CheckContext {
        component: crate::COMPONENT.into(),
        now: now * 1000,
        trigger: Trigger::Scheduled,
        boot_id: boot.into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

pub fn driver(library: Library, product: &str) -> Driver {
    Driver {
        library,
        product: Ok(product.into()),
    }
}

pub fn h100() -> Driver {
    driver(Library::Loaded, "NVIDIA H100 80GB HBM3")
}

pub fn config(document: &str) -> Config {
    Config::read(document).unwrap()
}

pub fn want(ports: u64, rate: u64) -> Config {
    Config {
        expected: Some(Expected { ports, rate }),
        ..Config::default()
    }
}

pub fn state(report: &Report) -> &HealthState {
    assert_eq!(report.states.len(), 1);
    &report.states[0]
}

/// Health and reason; nothing else may be said of a healthy one.
fn seen(report: &Report) -> (Health, String) {
    let state = state(report);
    if state.health == Health::Healthy {
        assert_eq!(state.suggested_actions, None);
        assert_eq!(state.error, None);
        assert_eq!(state.subject, None);
    }
    (state.health.clone(), state.reason.clone())
}

fn look(map: Map, config: &Config) -> Report {
    check(&context(START, "b0"), config, &h100(), &Fake::of(map)).unwrap()
}

const NOT_SET: &str = "ports or rate threshold not set (skipped evaluation)";

#[test]
fn what_comes_before_the_ports() {
    let not_found = || driver(Library::NotFound("libnvidia-ml.so.1".into()), "");
    let failed = || driver(Library::Failed("Unknown Error".into()), "");
    let unknown = || driver(Library::Loaded, "NVIDIA L4");
    let broken = "NVML initialization error: Unknown Error";
    for (driver, config, health, reason, supported) in [
        (
            not_found(),
            Config::default(),
            Health::Healthy,
            NOT_SET,
            false,
        ),
        (failed(), Config::default(), Health::Healthy, NOT_SET, true),
        (failed(), want(8, 400), Health::Unhealthy, broken, true),
        (unknown(), Config::default(), Health::Healthy, NOT_SET, true),
        // The flag can switch it off, also where the product has a default.
        (h100(), want(0, 400), Health::Healthy, NOT_SET, true),
        (h100(), want(8, 0), Health::Healthy, NOT_SET, true),
    ] {
        let machine = Fake::of(Map::eight());
        let report = check(&context(START, "b0"), &config, &driver, &machine).unwrap();
        assert_eq!(seen(&report), (health, reason.to_owned()), "{driver:?}");
        assert_eq!(report.supported, supported, "{driver:?}");
        assert_eq!(report.metrics, []);
        assert_eq!(state(&report).extra_info, []);
        assert_eq!(
            *machine.map.reads.borrow(),
            Vec::<String>::new(),
            "no file is read"
        );
        assert_eq!(machine.writes.get(), 0);
    }
}

#[test]
fn ports_are_judged_without_an_nvidia_driver() {
    let none = || driver(Library::NotFound("libnvidia-ml.so.1".into()), "");
    let nameless = || driver(Library::Loaded, " ");
    let module = "PCI_CLASS=120000\nPCI_ID=1002:74A1\n";
    for (driver, config, pci) in [
        (none(), want(8, 400), 0),
        (nameless(), want(8, 400), 0),
        (none(), Config::default(), 8),
    ] {
        let mut machine = Fake::of(Map::eight());
        machine.pci = vec![module.to_owned(); pci];
        let at = |seconds| {
            let context = context(START + seconds, "b0");
            check(&context, &config, &driver, &machine).unwrap()
        };
        let report = at(0);
        assert_eq!(seen(&report).1, OK);
        assert!(report.supported);
        machine.map.down("mlx5_7");
        let report = at(30);
        let (health, reason) = seen(&report);
        assert_eq!(health, Health::Unhealthy);
        assert!(
            reason.starts_with("only 7 port(s) are active and >=400 Gb/s"),
            "{reason}"
        );
    }
}

#[test]
fn nvml_that_fails_asks_for_a_reboot() {
    let failed = driver(Library::Failed("Unknown Error".into()), "");
    let machine = Fake::of(Map::eight());
    let report = check(&context(START, "b0"), &want(8, 400), &failed, &machine).unwrap();
    let actions = state(&report).suggested_actions.as_ref().unwrap();
    assert_eq!(actions.repair_actions, [RepairAction::RebootSystem]);
    assert_eq!(actions.description, "");
    assert_eq!(state(&report).error, None);
}

#[test]
fn an_event_shows_the_component_without_a_driver() {
    let none = driver(Library::NotFound("x".into()), "");
    let mut machine = Fake::of(Map::default());
    machine.events = true;
    let report = check(&context(START, "b0"), &Config::default(), &none, &machine).unwrap();
    assert!(report.supported);
    machine.fails.set("events");
    let failed = check(&context(START, "b0"), &Config::default(), &none, &machine);
    assert!(matches!(failed, Err(Error::Source(_))));
}

#[test]
fn the_product_says_what_is_wanted_and_the_flag_wins() {
    let map = || {
        let map = Map::eight();
        map.down("mlx5_7");
        map
    };
    let reason = |config: &Config| seen(&look(map(), config)).1;
    assert!(
        reason(&Config::default())
            .starts_with("only 7 port(s) are active and >=400 Gb/s, expect >=8 port(s)")
    );
    assert_eq!(reason(&want(7, 400)), OK);
    assert!(
        reason(&want(4, 800))
            .starts_with("only 0 port(s) are active and >=800 Gb/s, expect >=4 port(s)")
    );
}

#[test]
fn a_product_that_cannot_be_read_once_is_remembered() {
    let machine = Fake::of(Map::eight());
    let at = |seconds, driver: &Driver| {
        seen(
            &check(
                &context(START + seconds, "b0"),
                &Config::default(),
                driver,
                &machine,
            )
            .unwrap(),
        )
    };
    let silent = Driver {
        library: Library::Loaded,
        product: Err(AccessError::Other("no answer".into())),
    };
    assert_eq!(at(0, &silent).1, NOT_SET, "nothing is known yet");
    assert_eq!(at(30, &h100()).1, OK);
    assert_eq!(at(60, &silent).1, OK);
}

/// Thresholds as in the reference: physical state and rate count, the logical state does not.
#[test]
fn which_ports_count() {
    let (active, up) = ("4: ACTIVE", "5: LinkUp");
    let (infiniband, ndr) = ("InfiniBand", "400 Gb/sec (4X NDR)");
    for (link_layer, state, phys, rate, counts) in [
        (infiniband, active, up, ndr, true),
        ("infiniband", active, up, ndr, true),
        (infiniband, active, up, "800 Gb/sec (4X XDR)", true),
        (infiniband, "2: INIT", up, ndr, true),
        (infiniband, "1: DOWN", up, ndr, true),
        (infiniband, active, "5: LINKUP", ndr, false),
        (infiniband, active, "2: Polling", ndr, false),
        (infiniband, active, "6: LinkErrorRecovery", ndr, false),
        (infiniband, active, up, "399.9 Gb/sec (4X NDR)", false),
        (infiniband, active, up, "200 Gb/sec (4X HDR)", false),
        ("Ethernet", active, up, ndr, false),
    ] {
        let map = Map::eight();
        map.port("mlx5_7", 1, link_layer, state, phys, rate);
        let (health, reason) = seen(&look(map, &want(8, 400)));
        let what = format!("{link_layer} {state} {phys} {rate}: {reason}");
        assert_eq!(health == Health::Healthy, counts, "{what}");
        assert_eq!(reason.starts_with("only 7 port(s)"), !counts, "{what}");
    }
}

/// Words of the reference, and what is added to them.
#[test]
fn reasons_of_a_shortage() {
    let lost = " -- connecton lost from this card to other cards/switches";
    let head =
        |good: u64| format!("only {good} port(s) are active and >=400 Gb/s, expect >=8 port(s)");
    type Change = fn(&Map);
    let cases: [(Change, u64, String); 8] = [
        (|map| map.down("mlx5_3"), 7, format!("; 1 device(s) physical state Polling (mlx5_3){lost}")),
        (
            |map| {
                for device in ["mlx5_6", "mlx5_1"] {
                    map.port(device, 1, "InfiniBand", "1: DOWN", "3: Disabled", "400 Gb/sec (4X NDR)");
                }
                map.down("mlx5_4");
            },
            5,
            format!(
                "; 1 device(s) physical state Polling (mlx5_4){lost}; 2 device(s) physical state Disabled (mlx5_1, mlx5_6)"
            ),
        ),
        (
            |map| map.port("mlx5_2", 1, "InfiniBand", "4: ACTIVE", "5: LinkUp", "200 Gb/sec (4X HDR)"),
            7,
            "; 1 device(s) below 400 Gb/s (mlx5_2: 200 Gb/s)".into(),
        ),
        (
            |map| map.port("mlx5_2", 1, "InfiniBand", "1: DOWN", "6: LinkErrorRecovery", "400 Gb/sec (4X NDR)"),
            7,
            "; 1 device(s) physical state LinkErrorRecovery (mlx5_2)".into(),
        ),
        (
            |map| map.set("mlx5_2/ports/1/state", "?"),
            7,
            r#"; 1 device(s) cannot be read (mlx5_2: state: "?" is not ‹number›: ‹word›)"#.into(),
        ),
        (
            |map| {
                let path = "mlx5_2/ports/1/state";
                map.break_file(path, timed_out(path));
            },
            7,
            "; 1 device(s) cannot be read (mlx5_2: /sys/class/infiniband/mlx5_2/ports/1/state: no answer for 5000 ms)".into(),
        ),
        // A device that was never seen cannot be named.
        (|map| map.remove("mlx5_2/"), 7, String::new()),
        (
            |map| map.port("mlx5_2", 1, "Ethernet", "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)"),
            7,
            String::new(),
        ),
    ];
    for (change, good, rest) in cases {
        let map = Map::eight();
        change(&map);
        let report = look(map, &want(8, 400));
        let expected = format!("{}{rest}", head(good));
        assert_eq!(seen(&report), (Health::Unhealthy, expected));
        assert_eq!(state(&report).suggested_actions, None);
        assert_eq!(state(&report).recovery, [Recovery::NextGoodReading]);
    }
}

#[test]
fn groups_are_sorted_as_text() {
    let map = Map::default();
    for number in 0..10 {
        map.down(&format!("mlx5_{number}"));
    }
    for device in ["mlx5_a", "mlx5_b"] {
        map.port(
            device,
            1,
            "InfiniBand",
            "1: DOWN",
            "3: Disabled",
            "10 Gb/sec",
        );
    }
    let (_, reason) = seen(&look(map, &want(8, 400)));
    let (ten, two) = (
        reason.find("10 device(s)").unwrap(),
        reason.find("2 device(s)").unwrap(),
    );
    assert!(ten < two, "{reason}");
}

#[test]
fn ports_of_one_device_have_numbers() {
    let map = Map::default();
    for port in [1, 2] {
        map.port(
            "mlx4_0",
            port,
            "InfiniBand",
            "1: DOWN",
            "2: Polling",
            "10 Gb/sec (4X SDR)",
        );
    }
    map.port(
        "mlx4_1",
        1,
        "InfiniBand",
        "4: ACTIVE",
        "5: LinkUp",
        "40 Gb/sec (4X QDR)",
    );
    let (_, reason) = seen(&look(map, &want(3, 40)));
    assert!(
        reason.contains("; 2 device(s) physical state Polling (mlx4_0 port 1, mlx4_0 port 2) -- "),
        "{reason}"
    );
}

#[test]
fn one_port_is_the_subject() {
    let map = Map::eight();
    map.down("mlx5_3");
    let report = look(map, &want(8, 400));
    let port = |device: &str| {
        Subject::Port(PortId {
            device: device.into(),
            port: 1,
        })
    };
    assert_eq!(state(&report).subject, Some(port("mlx5_3")));
    let evidence = ["state", "phys_state", "rate"]
        .map(|name| Evidence::File(format!("{ROOT}/mlx5_3/ports/1/{name}")));
    assert_eq!(state(&report).evidence, evidence);
    let map = Map::eight();
    map.down("mlx5_3");
    map.down("mlx5_4");
    assert_eq!(state(&look(map, &want(8, 400))).subject, None);
}

#[test]
fn without_ports() {
    let empty = Map::default;
    let root = || {
        let map = Map::default();
        map.set(".", "");
        map
    };
    let roce = || {
        let map = Map::default();
        for number in 0..8 {
            map.port(
                &format!("mlx5_{number}"),
                1,
                "Ethernet",
                "4: ACTIVE",
                "5: LinkUp",
                "400 Gb/sec",
            );
        }
        map
    };
    let excluding = Config {
        exclude_devices: (0..8).map(|number| format!("mlx5_{number}")).collect(),
        ..want(8, 400)
    };
    let shortage = "only 0 port(s) are active and >=400 Gb/s, expect >=8 port(s); no InfiniBand device is there";
    for (map, config, health, reason) in [
        // Nothing that was there is gone, and nobody said that there should be something.
        (empty(), Config::default(), Health::Healthy, NO_PORTS),
        (root(), Config::default(), Health::Healthy, NO_PORTS),
        (roce(), Config::default(), Health::Healthy, NO_PORTS),
        // RoCE is not judged.
        (roce(), want(8, 400), Health::Healthy, NO_PORTS),
        (Map::eight(), excluding, Health::Healthy, NO_PORTS),
        (empty(), want(8, 400), Health::Unhealthy, NOT_LOADED),
        (root(), want(8, 400), Health::Unhealthy, shortage),
    ] {
        let report = look(map, &config);
        assert_eq!(seen(&report), (health.clone(), reason.to_owned()));
        assert_eq!(state(&report).suggested_actions, None);
        if reason == NO_PORTS {
            let data = state(&report).extra_info.first();
            let shows_roce = data
                .is_none_or(|(_, data)| data.contains(r#""note":"not InfiniBand, not judged""#));
            assert!(shows_roce);
        }
        if reason == NOT_LOADED {
            assert_eq!(
                state(&report).error.as_deref(),
                Some(
                    "could not read \"/sys/class/infiniband\": stat /sys/class/infiniband: no such file or directory"
                )
            );
        }
    }
}

#[test]
fn what_does_not_matter_is_said_without_alarm() {
    let map = Map::eight();
    map.up("mlx5_8");
    map.set("mlx5_8/ports/1/rate", "?");
    map.port("mlx5_9", 1, "Ethernet", "?", "?", "?");
    let (health, reason) = seen(&look(map, &want(8, 400)));
    assert_eq!(health, Health::Healthy);
    assert_eq!(
        reason,
        r#"ok; no infiniband port issue; 1 device(s) cannot be read (mlx5_8: rate: "?" is not ‹number› Gb/sec)"#
    );
}
