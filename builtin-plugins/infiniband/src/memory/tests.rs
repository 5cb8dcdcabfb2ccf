use proptest::prelude::*;

use super::*;
use crate::class::{COUNTERS, DeviceFacts, Link};
use crate::config::MAX_OUTAGES;

fn port(device: &str, number: u32, state: &str, link_downed: u64) -> Port {
    let up = state == "ACTIVE";
    let mut counters = [None; COUNTERS.len()];
    counters[0] = Some(link_downed);
    Port {
        device: device.into(),
        number,
        link_layer: "InfiniBand".into(),
        link: Ok(Link {
            state: state.into(),
            phys_state: if up { "LinkUp" } else { "Polling" }.into(),
            rate: 400,
        }),
        counters,
        refuses_counters: true,
        about: DeviceFacts::default(),
    }
}

fn class(ports: Vec<Port>) -> Class {
    Class {
        ports,
        ..Class::default()
    }
}

/// The largest memory that there can be fits one value of `state`.
#[test]
fn it_is_bounded() {
    let config = Config {
        flap_outages: MAX_OUTAGES,
        ..Config::default()
    };
    let expected = Expected {
        ports: 1_000,
        rate: 400,
    };
    let name = |number: u32| format!("{:x<60}{number:03}", "mlx5");
    let mut memory = Memory::default();
    let mut now = 4_000_000_000;
    for round in 0..60 {
        let state = if round % 5 == 0 || round < 3 {
            "ACTIVE"
        } else {
            "DOWN"
        };
        now += 200;
        let all: Vec<Port> = (0..400)
            .map(|number| port(&name(number), 4_294_967_295, state, u64::MAX))
            .collect();
        let mut class = class(all);
        class.silent = (0..400).map(name).collect();
        memory.wake("0b0b0b0b-0b0b-0b0b-0b0b-0b0b0b0b0b0b", now);
        memory.meet(&class);
        memory.step(&config, &expected, &class, true, now);
        memory.product = "NVIDIA H100 80GB HBM3".into();
        assert!(memory.ports.len() <= MAX_PORTS);
        assert!(
            memory.save().unwrap().len() <= 64 * 1024,
            "{}",
            memory.save().unwrap().len()
        );
    }
    let past = memory.ports.values().next().unwrap();
    assert!(past.flap.is_some() && past.drop.is_some() && past.outages.len() as u64 == MAX_OUTAGES);
}

#[test]
fn keys_are_names() {
    assert_eq!(name("mlx5_0/1"), Some(("mlx5_0".into(), 1)));
    assert_eq!(name(&key("a/b", 7)), Some(("a/b".into(), 7)));
    for bad in ["", "mlx5_0", "mlx5_0/", "mlx5_0/x"] {
        assert_eq!(name(bad), None);
    }
}

fn steps() -> impl Strategy<Value = Vec<(u8, u8, u64, bool)>> {
    proptest::collection::vec((0u8..5, 0u8..4, 0u64..400, any::<bool>()), 1..60)
}

proptest! {
    /// Whatever happens: it can be saved and restored, and after a calm hour with all ports up nothing is left but flaps.
    #[test]
    fn any_story_ends(steps in steps(), auto_clear in prop::sample::select(vec![0u64, 300])) {
        let config = Config { flap_auto_clear_seconds: auto_clear, ..Config::default() };
        let expected = Expected { ports: 2, rate: 400 };
        let mut memory = Memory::default();
        let mut now = 1_000_000;
        let step = |memory: &mut Memory, states: [&str; 2], failing, now| {
            let ports = states.iter().enumerate().filter(|(_, state)| !state.is_empty());
            let class = class(ports.map(|(n, state)| port(&format!("mlx5_{n}"), 1, state, 0)).collect());
            memory.wake("b", now);
            memory.meet(&class);
            memory.step(&config, &expected, &class, failing, now);
            let text = memory.save().unwrap();
            assert_eq!(&Memory::restore(Some(&text)), memory);
        };
        for (one, two, seconds, failing) in steps {
            now += seconds;
            let word = |state: u8| match state { 0 => "DOWN", 1 => "INIT", 2 => "", _ => "ACTIVE" };
            if one == 4 && two == 3 {
                memory.set_healthy(now * 1000);
            }
            step(&mut memory, [word(one), word(two)], failing, now);
        }
        for _ in 0..3 {
            now += 1_200;
            step(&mut memory, ["ACTIVE", "ACTIVE"], false, now);
        }
        for past in memory.ports.values() {
            prop_assert!(past.drop.is_none() && past.outage.is_none() && !past.acknowledged);
            prop_assert!(past.flap.is_none() || auto_clear == 0);
        }
        memory.set_healthy(now * 1000);
        prop_assert!(memory.ports.values().all(|past| past.flap.is_none()));
    }

    #[test]
    fn any_text_is_survived(text in "([{}\\[\\]:,]|\"[a-z_]{0,8}\"|[0-9.-]|\\PC){0,60}") {
        Memory::restore(Some(&text));
    }
}
