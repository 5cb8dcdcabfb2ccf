use std::cell::RefCell;
use std::collections::BTreeMap;

use gpud_sdk::types::TimeoutInfo;
use proptest::prelude::*;

use super::*;

/// Folder of the tests' devices.
pub const ROOT: &str = "/sys/class/infiniband";

type Files = BTreeMap<String, Result<String, AccessError>>;

/// A tree that is a map.
#[derive(Default)]
pub struct Map {
    files: RefCell<Files>,
    folders: RefCell<BTreeMap<String, AccessError>>,
    /// What was read, in order.
    pub reads: RefCell<Vec<String>>,
    /// When this path is read, everything below that one goes.
    pub vanishing: RefCell<Option<(String, String)>>,
}

impl Map {
    /// Sets a file below [`ROOT`].
    pub fn set(&self, path: &str, text: &str) {
        let path = format!("{ROOT}/{path}");
        self.files.borrow_mut().insert(path, Ok(text.to_owned()));
    }

    /// A file below [`ROOT`] that cannot be read.
    pub fn break_file(&self, path: &str, error: AccessError) {
        let path = format!("{ROOT}/{path}");
        self.files.borrow_mut().insert(path, Err(error));
    }

    /// A folder that cannot be listed.
    pub fn break_folder(&self, path: &str, error: AccessError) {
        self.folders.borrow_mut().insert(path.to_owned(), error);
    }

    /// All folders can be listed again.
    pub fn repair_folders(&self) {
        self.folders.borrow_mut().clear();
    }

    /// Takes away all below [`ROOT`] that begins so.
    pub fn remove(&self, prefix: &str) {
        let prefix = format!("{ROOT}/{prefix}");
        let mut files = self.files.borrow_mut();
        files.retain(|path, _| !path.starts_with(&prefix));
    }

    /// A port with all its files.
    pub fn port(
        &self,
        device: &str,
        port: u32,
        link_layer: &str,
        state: &str,
        phys: &str,
        rate: &str,
    ) {
        self.set(&format!("{device}/fw_ver"), "28.41.1000\n");
        self.set(&format!("{device}/board_id"), "MT_0000000838\n");
        self.set(&format!("{device}/hca_type"), "MT4129\n");
        let place = format!("{device}/ports/{port}");
        self.set(&format!("{place}/link_layer"), &format!("{link_layer}\n"));
        self.set(&format!("{place}/state"), &format!("{state}\n"));
        self.set(&format!("{place}/phys_state"), &format!("{phys}\n"));
        self.set(&format!("{place}/rate"), &format!("{rate}\n"));
        for name in COUNTERS {
            self.set(&format!("{place}/counters/{name}"), "0\n");
        }
    }

    /// An InfiniBand port with a link of 400 Gb/s.
    pub fn up(&self, device: &str) {
        self.port(
            device,
            1,
            "InfiniBand",
            "4: ACTIVE",
            "5: LinkUp",
            "400 Gb/sec (4X NDR)",
        );
    }

    /// The same without a partner.
    pub fn down(&self, device: &str) {
        self.port(
            device,
            1,
            "InfiniBand",
            "1: DOWN",
            "2: Polling",
            "10 Gb/sec (4X SDR)",
        );
    }

    /// `mlx5_0` to `mlx5_7`, up.
    pub fn eight() -> Self {
        let map = Self::default();
        (0..8).for_each(|number| map.up(&format!("mlx5_{number}")));
        map
    }
}

impl Tree for Map {
    fn names(&self, folder: &str) -> Result<Vec<String>, AccessError> {
        if let Some(error) = self.folders.borrow().get(folder) {
            return Err(error.clone());
        }
        let prefix = format!("{folder}/");
        let files = self.files.borrow();
        let below = files.keys().filter_map(|path| path.strip_prefix(&prefix));
        let names: BTreeSet<String> = below
            .filter_map(|rest| rest.split('/').next())
            .map(str::to_owned)
            .collect();
        if names.is_empty() {
            return Err(AccessError::NotFound(folder.to_owned()));
        }
        // A folder that is there and empty holds this.
        Ok(names.into_iter().filter(|name| name != ".").collect())
    }

    fn text(&self, path: &str) -> Result<String, AccessError> {
        self.reads.borrow_mut().push(path.to_owned());
        let vanishing = self.vanishing.borrow().clone();
        if let Some((trigger, prefix)) = vanishing
            && path == format!("{ROOT}/{trigger}")
        {
            self.remove(&prefix);
        }
        let files = self.files.borrow();
        let found = files.get(path).cloned();
        found.unwrap_or_else(|| Err(AccessError::NotFound(path.to_owned())))
    }
}

/// No answer from a file.
pub fn timed_out(path: &str) -> AccessError {
    AccessError::TimedOut(TimeoutInfo {
        what: format!("{ROOT}/{path}"),
        after_ms: 5_000,
        last_good: None,
    })
}

fn load(map: &Map, exclude: &[&str]) -> Class {
    let exclude: Vec<String> = exclude.iter().map(|&name| name.to_owned()).collect();
    read(map, ROOT, &exclude, &BTreeSet::new(), |_, _| false).unwrap()
}

#[test]
fn a_healthy_machine() {
    let class = load(&Map::eight(), &[]);
    assert_eq!(class.unreadable, []);
    assert!(!class.is_empty);
    assert_eq!(class.ports.len(), 8);
    let port = &class.ports[3];
    assert_eq!((port.device.as_str(), port.number), ("mlx5_3", 1));
    assert_eq!(port.link_layer, "InfiniBand");
    let link = port.link.clone().unwrap();
    assert_eq!(
        (link.state.as_str(), link.phys_state.as_str(), link.rate),
        ("ACTIVE", "LinkUp", 400)
    );
    assert!(link.is_active() && port.is_good(400) && !port.is_good(401));
    assert_eq!(port.counters, [Some(0); 7]);
    assert_eq!(
        port.about,
        DeviceFacts {
            board_id: "MT_0000000838".into(),
            firmware: "28.41.1000".into(),
            hca_type: "MT4129".into(),
        }
    );
}

#[test]
fn devices_are_sorted_as_text_and_ports_by_number() {
    let map = Map::default();
    for device in ["mlx5_2", "mlx5_10", "ibp24s0"] {
        map.up(device);
    }
    for port in [2, 10, 1] {
        map.port(
            "mlx4_0",
            port,
            "InfiniBand",
            "4: ACTIVE",
            "5: LinkUp",
            "40 Gb/sec (4X QDR)",
        );
    }
    map.set("mlx4_0/ports/x/state", "no port");
    let ports = load(&map, &[]).ports;
    let names: Vec<_> = ports
        .iter()
        .map(|port| format!("{}/{}", port.device, port.number))
        .collect();
    let expected = [
        "ibp24s0/1",
        "mlx4_0/1",
        "mlx4_0/2",
        "mlx4_0/10",
        "mlx5_10/1",
        "mlx5_2/1",
    ];
    assert_eq!(names, expected);
}

#[test]
fn excluded_devices_are_not_touched() {
    let map = Map::eight();
    let class = load(&map, &["mlx5_0", "mlx5_5"]);
    assert_eq!(class.ports.len(), 6);
    assert!(!class.is_empty);
    let reads = map.reads.borrow();
    assert!(
        !reads
            .iter()
            .any(|path| path.contains("mlx5_0") || path.contains("mlx5_5"))
    );
}

#[test]
fn ethernet_ports_are_recognised_and_not_counted() {
    let map = Map::eight();
    map.port(
        "mlx5_8",
        1,
        "Ethernet",
        "4: ACTIVE",
        "5: LinkUp",
        "200 Gb/sec (4X HDR)",
    );
    let class = load(&map, &[]);
    let roce = &class.ports[8];
    assert!(!roce.is_infiniband());
    assert_eq!(roce.counters, [None; 7]);
    assert!(
        !map.reads
            .borrow()
            .iter()
            .any(|path| path.contains("mlx5_8/ports/1/counters"))
    );
}

#[test]
fn one_bad_file_is_one_bad_port() {
    let denied = || AccessError::Denied("x".into());
    type Change = Box<dyn Fn(&Map)>;
    let set = |path: &'static str, text: &'static str| -> Change {
        Box::new(move |map| map.set(path, text))
    };
    let cases: [(Change, &str); 9] = [
        (
            set("mlx5_3/ports/1/state", "ACTIVE"),
            r#"state: "ACTIVE" is not ‹number›: ‹word›"#,
        ),
        (
            set("mlx5_3/ports/1/state", ""),
            r#"state: "" is not ‹number›: ‹word›"#,
        ),
        (
            set("mlx5_3/ports/1/phys_state", "5: Link: Up"),
            r#"phys_state: "5: Link: Up" is not ‹number›: ‹word›"#,
        ),
        (
            set("mlx5_3/ports/1/rate", "400"),
            r#"rate: "400" is not ‹number› Gb/sec"#,
        ),
        (set("mlx5_3/ports/1/rate", "\u{fffd}\u{0}"), "rate: "),
        (
            set("mlx5_3/ports/1/link_layer", "\n"),
            "link_layer: is empty",
        ),
        (
            Box::new(move |map| map.break_file("mlx5_3/ports/1/state", denied())),
            "state: x: permission denied",
        ),
        (
            Box::new(|map| map.remove("mlx5_3/ports/1/rate")),
            "rate: /sys/class/infiniband/mlx5_3/ports/1/rate: not found",
        ),
        (
            Box::new(|map| map.remove("mlx5_3/ports/1/link_layer")),
            "link_layer: /sys/class/infiniband/mlx5_3/ports/1/link_layer: not found",
        ),
    ];
    for (change, error) in cases {
        let map = Map::eight();
        change(&map);
        let class = load(&map, &[]);
        assert_eq!(class.ports.len(), 8, "{error}");
        for port in &class.ports {
            let found = port.link.as_ref().err().map_or("", String::as_str);
            if port.device == "mlx5_3" {
                assert!(found.starts_with(error), "{error}: {found}");
            } else {
                assert_eq!(found, "", "{error}");
            }
        }
    }
}

#[test]
fn facts_of_a_device_do_not_matter() {
    let map = Map::eight();
    for name in ["fw_ver", "board_id", "hca_type"] {
        map.remove(&format!("mlx5_3/{name}"));
    }
    map.break_file("mlx5_4/fw_ver", timed_out("mlx5_4/fw_ver"));
    let class = load(&map, &[]);
    assert!(class.ports.iter().all(|port| port.is_good(400)));
    assert_eq!(class.ports[3].about, DeviceFacts::default());
}

#[test]
fn a_device_that_disappears_while_it_is_read_is_not_there() {
    for trigger in ["link_layer", "state", "phys_state", "rate"] {
        let map = Map::eight();
        let trigger = format!("mlx5_3/ports/1/{trigger}");
        *map.vanishing.borrow_mut() = Some((trigger, "mlx5_3/".into()));
        let class = load(&map, &[]);
        assert_eq!(class.ports.len(), 7);
        assert_eq!(class.unreadable, []);
    }
    // All is known by then.
    let map = Map::eight();
    let trigger = "mlx5_3/ports/1/counters/symbol_error".to_owned();
    *map.vanishing.borrow_mut() = Some((trigger, "mlx5_3/".into()));
    assert_eq!(load(&map, &[]).ports.len(), 8);
    // Listed, and gone before its ports were.
    let map = Map::eight();
    map.break_folder(
        "/sys/class/infiniband/mlx5_3/ports",
        AccessError::NotFound("x".into()),
    );
    assert_eq!(load(&map, &[]).ports.len(), 7);
}

#[test]
fn a_device_that_does_not_answer_is_asked_once() {
    let map = Map::eight();
    for device in [1, 3, 5] {
        let path = format!("mlx5_{device}/ports/1/state");
        map.break_file(&path, timed_out(&path));
    }
    let class = load(&map, &[]);
    let names: Vec<_> = class
        .ports
        .iter()
        .map(|port| port.device.as_str())
        .collect();
    assert_eq!(
        names,
        ["mlx5_0", "mlx5_2"],
        "the rest waits for the next check"
    );
    let unreadable: Vec<_> = class
        .unreadable
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(
        unreadable,
        ["mlx5_1", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7"]
    );
    assert_eq!(
        class.unreadable[0].1,
        "/sys/class/infiniband/mlx5_1/ports/1/state: no answer for 5000 ms"
    );
    assert_eq!(
        class.unreadable[2].1,
        "not read, too many devices do not answer"
    );
    assert!(
        !map.reads
            .borrow()
            .iter()
            .any(|path| path.contains("mlx5_1/ports/1/rate"))
    );
}

#[test]
fn counters_that_cannot_be_read_are_not_known() {
    let map = Map::eight();
    map.set("mlx5_0/ports/1/counters/link_downed", "0x10\n");
    map.set("mlx5_1/ports/1/counters/link_downed", "N/A (no PMA)\n");
    map.set("mlx5_2/ports/1/counters/link_downed", "many\n");
    map.remove("mlx5_3/ports/1/counters");
    map.break_file(
        "mlx5_4/ports/1/counters/link_downed",
        AccessError::Denied("x".into()),
    );
    let class = load(&map, &[]);
    let downed: Vec<_> = class.ports.iter().map(Port::link_downed).collect();
    assert_eq!(
        downed,
        [Some(16), None, None, None, None, Some(0), Some(0), Some(0)]
    );
    assert!(class.ports.iter().all(|port| port.is_good(400)));
    assert_eq!(class.ports[3].counters, [None; 7]);
    assert_eq!(class.ports[4].counters[1], Some(0), "the others are asked");
}

#[test]
fn a_card_that_refuses_to_count_is_left_alone() {
    let map = Map::eight();
    let error = "/sys/…/link_downed: Invalid argument (os error 22)";
    map.break_file(
        "mlx5_4/ports/1/counters/link_downed",
        AccessError::Other(error.into()),
    );
    let class = load(&map, &[]);
    assert!(class.ports[4].refuses_counters);
    let asked = |map: &Map| {
        map.reads
            .borrow()
            .iter()
            .filter(|path| path.contains("mlx5_4/ports/1/counters"))
            .count()
    };
    assert_eq!(asked(&map), 1);
    map.reads.borrow_mut().clear();
    let class = read(&map, ROOT, &[], &BTreeSet::new(), |device, port| {
        (device, port) == ("mlx5_4", 1)
    })
    .unwrap();
    assert!(class.ports[4].refuses_counters && class.ports[4].is_good(400));
    assert_eq!(asked(&map), 0);
}

#[test]
fn folders_that_cannot_be_listed() {
    let map = Map::default();
    assert_eq!(
        read(&map, ROOT, &[], &BTreeSet::new(), |_, _| false),
        Err(AccessError::NotFound(ROOT.into()))
    );
    map.set(".", "");
    assert!(load(&map, &[]).is_empty);
    let map = Map::eight();
    map.break_folder(
        "/sys/class/infiniband/mlx5_3/ports",
        AccessError::Denied("p".into()),
    );
    let class = load(&map, &[]);
    assert_eq!(class.ports.len(), 7);
    assert_eq!(
        class.unreadable,
        [("mlx5_3".into(), "p: permission denied".into())]
    );
}

#[test]
fn very_many_devices() {
    let map = Map::default();
    (0..300).for_each(|number| map.up(&format!("mlx5_{number:03}")));
    let class = load(&map, &[]);
    assert_eq!((class.ports.len(), class.unreadable.len()), (256, 44));
    assert!(
        map.reads.borrow().len() < 5_000,
        "a call has a budget of 10,000"
    );
}

proptest! {
    #[test]
    fn any_tree_is_survived(
        files in proptest::collection::vec(
            (
                "(mlx5_[0-3]|x|é)",
                "(fw_ver|ports/[0-2x]/(state|phys_state|rate|link_layer|counters/link_downed)|ports/99999999999/state)",
                "(InfiniBand|Ethernet|[0-9]: (ACTIVE|LinkUp)|400 Gb/sec|0x|\\PC){0,3}",
            ),
            0..30,
        ),
    ) {
        let map = Map::default();
        for (device, file, text) in files {
            map.set(&format!("{device}/{file}"), &text);
        }
        if let Ok(class) = read(&map, ROOT, &[], &BTreeSet::new(), |_, _| false) {
            for port in class.ports {
                prop_assert!(!port.is_good(1) || port.link.is_ok());
            }
        }
    }
}

/// Devices that hang for good do not keep the check from the others.
#[test]
fn devices_that_did_not_answer_are_asked_last() {
    let map = Map::eight();
    let mut silent = BTreeSet::new();
    for device in [0, 1, 2, 5] {
        let path = format!("mlx5_{device}/ports/1/state");
        map.break_file(&path, timed_out(&path));
    }
    for (read_now, silent_now) in [
        (0, 2),
        // The other two are found out.
        (2, 4),
        (4, 4),
        (4, 4),
    ] {
        let class = read(&map, ROOT, &[], &silent, |_, _| false).unwrap();
        assert_eq!(
            (class.ports.len(), class.silent.len()),
            (read_now, silent_now)
        );
        assert_eq!(class.ports.len() + class.unreadable.len(), 8);
        assert!(class.ports.is_sorted_by_key(|port| &port.device));
        silent = class.silent;
    }
    // They answer again.
    (0..8).for_each(|device| map.up(&format!("mlx5_{device}")));
    let class = read(&map, ROOT, &[], &silent, |_, _| false).unwrap();
    assert_eq!((class.ports.len(), class.silent.len()), (8, 0));
}
