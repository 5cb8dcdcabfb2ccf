//! Lines to events, and events to the state.

use gpud_sdk::catalog::testing;
use gpud_sdk::incidents::{Repeats, as_stored};
use gpud_sdk::policy::Policy;
use gpud_sdk::{CheckContext, Event, Health, Message, Trigger};
use proptest::prelude::*;

use crate::{COMPONENT, LINES, lines, patterns};

const NOW: u64 = 1_800_000_000_000;

fn context() -> CheckContext {
    CheckContext {
        component: COMPONENT.to_owned(),
        now: NOW,
        trigger: Trigger::Event,
        boot_id: "b-1".to_owned(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

/// Lines ten seconds apart, the last of them now.
fn events(texts: &[&str]) -> Vec<Event> {
    let messages: Vec<Message> = (0..)
        .zip(texts)
        .map(|(n, text)| Message {
            sequence: n,
            time: NOW - 10_000 * (texts.len() as u64 - 1 - n),
            level: 4,
            facility: 0,
            text: (*text).to_owned(),
            dictionary: None,
        })
        .collect();
    LINES.events(&context(), &messages, &mut Repeats::default())
}

fn verdict(texts: &[&str]) -> (Health, String) {
    let stored = as_stored(events(texts));
    let policy = Policy::none(&patterns::CATALOG);
    let state = LINES
        .judge(&context(), &policy, &stored, &[])
        .states
        .remove(0);
    (state.health, state.reason)
}

#[test]
fn the_data_file_holds() {
    testing::holds(
        include_str!("../catalog/patterns.json"),
        &patterns::CATALOG,
        |context, messages| LINES.events(context, messages, &mut Repeats::default()),
    );
}

#[test]
fn events_name_card_and_interface() {
    let fatal = "bnxt_en 0000:17:00.0 ens1f0np0: Fatal firmware reset event, data1: 0x1, data2: 0x0, min wait 2000 ms, max wait 10000 ms";
    for (line, message) in [
        (
            fatal,
            "Network card: its firmware met a fatal error (0000:17:00.0, ens1f0np0)",
        ),
        (
            "mlx5_core 0000:53:00.0 enp83s0f0np0: Link down",
            "Network port lost its link (enp83s0f0np0)",
        ),
        (
            "bond0: (slave enp83s0f0np0): link status definitely down, disabling slave",
            "Bond lost one of its links (bond0/enp83s0f0np0)",
        ),
        (
            "infiniband efa_0: Failed to process command CREATE_QP (opcode 1) comp_status 7 err -12",
            "Network card: it refused a command (efa_0)",
        ),
    ] {
        assert_eq!(events(&[line])[0].message, message);
    }
}

#[test]
fn what_recovers_is_healthy_again() {
    let down = "bond0: now running without any active interface!";
    let up = "bond0: active interface up!";
    let fatal = "bnxt_en 0000:17:00.0 ens1f0np0: Fatal firmware reset event, data1: 0x1, data2: 0x0, min wait 2000 ms, max wait 10000 ms";
    let well = "bnxt_en 0000:17:00.0 ens1f0np0: Driver recovery watchdog, role: primary, firmware status: 0x8000 (healthy), resets: 1";
    for (texts, health) in [
        (&[down][..], Health::Unhealthy),
        (&[down, up], Health::Healthy),
        (&[down, up, down], Health::Unhealthy),
        (&[down, "bond1: active interface up!"], Health::Unhealthy),
        (&[fatal], Health::Unhealthy),
        (&[fatal, well], Health::Healthy),
        (&["mlx5_core 0000:53:00.0 eth0: Link down"], Health::Healthy),
    ] {
        let (found, reason) = verdict(texts);
        assert_eq!(found, health, "{texts:?}: {reason}");
    }
}

#[test]
fn a_start_is_silent() {
    for line in [
        "ixgbe 0000:01:00.0 eno1: NIC Link is Up 10 Gbps, Flow Control: RX/TX",
        "mlx5_core 0000:53:00.0 enp83s0f0np0: Link up",
        "mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link INIT",
        "mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link ACTIVE",
        "bond0: (slave eth0): link status definitely up, 25000 Mbps full duplex",
        "bond0: (slave eth0): Enslaving as a backup interface with an up link",
        "IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready",
        "bnxt_en 0000:17:00.0 eth0: Error recovery info: error recovery[1], master[1], reset count[0], health status: 0x8000",
        "br0: port 1(veth1) entered disabled state",
        "veth12: Link down",
        "ixgbe 0000:01:00.0: NIC Link is Down",
        "a program: ixgbe 0000:01:00.0 eno1: NIC Link is Down",
    ] {
        assert_eq!(events(&[line]), [], "{line}");
    }
}

/// Lines put together from what is looked at, so that near misses are common.
fn line() -> impl Strategy<Value = String> {
    let who = prop::sample::select(vec![
        "bnxt_en 0000:17:00.0 ens1: ",
        "bnxt_en 0000:17:00.0: ",
        "ena 0000:00:05.0 eth0: ",
        "ice 0000:af:00.0 ens1f0: ",
        "ixgbe 0000:01:00.0 eno1: ",
        "igb 0000:01:00.0 eno1: igb: eno1 ",
        "infiniband efa_0: ",
        "infiniband irdma0: ",
        "bond0: ",
        "bond0: (slave eth0): ",
        "",
    ]);
    let text = prop::sample::select(vec![
        "Fatal firmware reset event",
        "Firmware non-fatal reset event",
        "Firmware reset aborted",
        "Driver recovery watchdog, x (healthy), resets: 1",
        "Chip temperature has gone above the x",
        "QPLIB: cmdq timedout",
        "Error (timeout: 1)",
        "Keep alive watchdog timeout",
        "Reset attempt failed",
        "Device reset completed successfully",
        "Wait for completion (polling) timeout",
        "Failed to process command X",
        "The device sent a completion",
        "critical PE Error",
        "device is unrecoverable",
        "Rebuild failed, unload",
        "Detected Tx Unit Hang",
        "Adapter removed",
        "The network adapter was stopped because it overheated",
        "NIC Link is Down",
        "Link is up at 1",
        "Link down",
        "Port: 1 Link DOWN",
        "link status definitely down, x",
        "link status definitely up for interface e, x",
        "now running without any active interface",
        "first active interface up!",
        "Warning: No 802.3ad response from the link partner",
    ]);
    (who, text, "\\PC{0,3}").prop_map(|(who, text, rest)| format!("{who}{text}{rest}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_read_is_delivered(line in line()) {
        if lines::find(&line).is_some() {
            testing::is_delivered(&patterns::PATTERNS, &line);
        }
    }

    #[test]
    fn any_line_is_survived(line in "\\PC{0,80}") {
        lines::find(&line);
    }
}
