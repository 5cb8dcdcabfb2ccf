use super::*;
use crate::interface::tests::of;
use gpud_sdk::Health;
use gpud_sdk::testing::test_context;

const NOW: u64 = 1_800_000_000_000;

/// Checks, each a list of interfaces; gives the last reason and health, and the names of all events.
fn run(config: &str, checks: &[&[Interface]]) -> (String, Health, Vec<String>) {
    let config = Config::parse(config).unwrap();
    let (mut history, mut memory) = (History::default(), Memory::default());
    let (mut last, mut names) = (None, Vec::new());
    for (number, interfaces) in (0..).zip(checks) {
        let context = test_context("network-interface", NOW + number * 60_000);
        let (report, after) = judge(&context, &config, interfaces, 0, &mut history, &memory);
        // The retained state survives as text.
        history = serde_json::from_str(&serde_json::to_string(&history).unwrap()).unwrap();
        memory = after;
        names.extend(report.events.iter().map(|event| event.name.clone()));
        last = report.states.into_iter().next();
    }
    let state = last.unwrap();
    (state.reason, state.health, names)
}

fn eth(files: &str) -> Vec<Interface> {
    vec![of(
        "eth0",
        &format!("type: 1;device/uevent: x;flags: 0x1003;{files}"),
    )]
}

#[test]
fn an_ordinary_machine_is_healthy() {
    let (up, down) = (eth("carrier: 1;speed: 1000"), eth("carrier: 0"));
    let (reason, health, events) = run("{}", &[&up, &down, &up]);
    assert_eq!(health, Health::Healthy);
    assert_eq!(reason, "1 of 1 network interfaces have a link, no trouble");
    assert_eq!(events, ["network_link_down", "network_link_down_cleared"]);
    let never = eth("carrier: 0");
    assert_eq!(run("{}", &[&never, &never]).2, Vec::<String>::new());
    let off = vec![of("eth0", "type: 1;device/uevent: x;flags: 0x1002")];
    assert_eq!(run("{}", &[&up, &off]).2, Vec::<String>::new());
}

#[test]
fn expectations() {
    let expected = r#"{"expected":{"eth0":100000}}"#;
    for (interfaces, reason, health, event) in [
        (
            vec![],
            "eth0 is missing",
            Health::Unhealthy,
            "network_interface_missing",
        ),
        (
            eth("carrier: 0"),
            "eth0 has no link",
            Health::Unhealthy,
            "network_link_down",
        ),
        (
            vec![of("eth0", "type: 1;device/uevent: x;flags: 0x1002")],
            "eth0 is switched off",
            Health::Unhealthy,
            "network_link_down",
        ),
        (
            eth("carrier: 1;speed: 25000"),
            "eth0 runs at 25000 Mbit/s, less than the expected 100000 Mbit/s",
            Health::Degraded,
            "network_speed_reduced",
        ),
    ] {
        let found = run(expected, &[&interfaces]);
        assert_eq!(found, (reason.to_owned(), health, vec![event.to_owned()]));
    }
    assert_eq!(
        run(expected, &[&eth("carrier: 1;speed: 100000")]).1,
        Health::Healthy
    );
    // What the driver does not tell is not known to be met; of a virtual machine nobody expects a speed.
    let (reason, health, events) = run(expected, &[&eth("carrier: 1;speed: -1")]);
    assert_eq!(
        (health, events),
        (Health::Degraded, vec!["network_speed_unknown".to_owned()])
    );
    assert!(
        reason.starts_with("eth0: its driver does not report the speed, expected 100000 Mbit/s"),
        "{reason}"
    );
    let any = r#"{"expected":{"eth0":0}}"#;
    assert_eq!(run(any, &[&eth("carrier: 1;speed: -1")]).1, Health::Healthy);
}

#[test]
fn counters_count_from_the_first_check() {
    let with = |errors: u64, losses: u64| {
        eth(&format!(
            "carrier: 1;statistics/rx_errors: {errors};statistics/tx_errors: 0;carrier_down_count: {losses}"
        ))
    };
    let start = with(5_000, 50);
    assert_eq!(run("{}", &[&start, &with(5_999, 59)]).1, Health::Healthy);
    let (reason, health, events) = run("{}", &[&start, &with(6_000, 60)]);
    assert_eq!(
        reason,
        "eth0: 1000 receive and transmit errors within an hour; eth0 lost its link 10 times within an hour"
    );
    assert_eq!(health, Health::Degraded);
    assert_eq!(events, ["network_errors", "network_link_flapping"]);
}

#[test]
fn a_counter_that_cannot_be_read_once_was_not_reset() {
    let with =
        eth("carrier: 1;statistics/rx_errors: 5000;statistics/tx_errors: 5;carrier_down_count: 50");
    let without = eth("carrier: 1;statistics/rx_errors: x;statistics/tx_errors: 5");
    let (reason, health, events) = run("{}", &[&with, &without, &with]);
    assert_eq!((health, events), (Health::Healthy, vec![]), "{reason}");
    // Nor is the first reading news.
    let (_, health, _) = run("{}", &[&without, &with]);
    assert_eq!(health, Health::Healthy);
}

#[test]
fn a_slower_link_is_reported_once() {
    let (fast, slow) = (
        eth("carrier: 1;speed: 10000"),
        eth("carrier: 1;speed: 1000"),
    );
    let (_, health, events) = run("{}", &[&fast, &slow, &slow]);
    assert_eq!(
        (health, events),
        (Health::Healthy, vec!["network_speed_reduced".to_owned()])
    );
}

#[test]
fn bonds() {
    let bond = |flags: &str, partner: &str, members: [&str; 2]| {
        let mut all = vec![of(
            "bond0",
            &format!(
                "type: 1;flags: {flags};carrier: 1;bonding/mode: 802.3ad 4;bonding/slaves: a b;bonding/ad_partner_mac: {partner}"
            ),
        )];
        for (name, status) in ["a", "b"].into_iter().zip(members) {
            all.push(of(name, &format!("bonding_slave/mii_status: {status}")));
        }
        all
    };
    let (none, some) = ("00:00:00:00:00:00", "aa:bb:cc:00:00:01");
    for (interfaces, health, event) in [
        (bond("0x1003", some, ["up", "up"]), Health::Healthy, None),
        (bond("0x1003", "", ["up", "up"]), Health::Healthy, None),
        (
            bond("0x1003", some, ["up", "down"]),
            Health::Degraded,
            Some("network_bond_degraded"),
        ),
        (
            bond("0x1003", some, ["down", "down"]),
            Health::Unhealthy,
            Some("network_bond_down"),
        ),
        (
            bond("0x1002", some, ["down", "down"]),
            Health::Healthy,
            None,
        ),
        (
            bond("0x1003", none, ["up", "up"]),
            Health::Degraded,
            Some("network_bond_no_partner"),
        ),
    ] {
        let (reason, found, events) = run("{}", &[&interfaces]);
        assert_eq!(found, health, "{reason}");
        assert_eq!(events.first().map(String::as_str), event);
    }
}

#[test]
fn what_is_left_out_is_said() {
    let config = Config::parse("{}").unwrap();
    let context = test_context("network-interface", NOW);
    let up = eth("carrier: 1");
    let mut history = History::default();
    let (report, _) = judge(&context, &config, &up, 73, &mut history, &Memory::default());
    assert_eq!(
        report.states[0].reason,
        "1 of 1 network interfaces have a link, no trouble; 73 more were not looked at"
    );
}

#[test]
fn a_machine_without_network_devices_is_not_watched() {
    let config = Config::parse("{}").unwrap();
    let context = test_context("network-interface", NOW);
    let (report, _) = judge(
        &context,
        &config,
        &[],
        0,
        &mut History::default(),
        &Memory::default(),
    );
    assert!(!report.supported);
}
