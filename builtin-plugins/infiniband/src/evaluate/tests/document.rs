//! The parts of a report besides its verdict.

use super::*;

#[test]
fn metrics_are_by_port() {
    let map = Map::eight();
    map.set("mlx5_3/ports/1/counters/link_downed", "5");
    map.port(
        "mlx4_0",
        1,
        "InfiniBand",
        "4: ACTIVE",
        "5: LinkUp",
        "40 Gb/sec",
    );
    map.port(
        "mlx4_0",
        2,
        "InfiniBand",
        "4: ACTIVE",
        "5: LinkUp",
        "40 Gb/sec",
    );
    map.set("mlx4_0/ports/2/counters/link_downed", "7");
    map.remove("mlx5_4/ports/1/counters");
    map.port(
        "mlx5_9",
        1,
        "Ethernet",
        "4: ACTIVE",
        "5: LinkUp",
        "400 Gb/sec",
    );
    let report = look(map, &want(8, 400));
    let of = |label: &str| {
        let labels = [("device_port".to_owned(), label.to_owned())];
        let metric = report.metrics.iter().find(|metric| {
            metric.name == "accelerator_nvidia_infiniband_link_downed" && metric.labels == labels
        });
        metric.map(|metric| metric.value)
    };
    assert_eq!(of("mlx5_3_1"), Some(5.0));
    assert_eq!((of("mlx4_0_1"), of("mlx4_0_2")), (Some(0.0), Some(7.0)));
    assert_eq!((of("mlx5_4_1"), of("mlx5_9_1")), (None, None));
    assert_eq!(report.metrics.len(), 9 * 7);
}

#[test]
fn the_document() {
    let map = Map::default();
    map.up("mlx5_0");
    map.down("mlx5_1");
    map.port(
        "mlx5_2",
        1,
        "Ethernet",
        "4: ACTIVE",
        "5: LinkUp",
        "200 Gb/sec",
    );
    let report = look(map, &want(1, 400));
    let (key, data) = &state(&report).extra_info[0];
    assert_eq!(key, "data");
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(
        data,
        serde_json::json!({
            "at_least_ports": 1, "at_least_rate": 400, "threshold_from": "configuration", "ports_ok": 1,
            "ports": [
                {"device": "mlx5_0", "port": 1, "link_layer": "InfiniBand", "state": "ACTIVE", "phys_state": "LinkUp",
                 "rate_gb_sec": 400, "link_downed": 0, "link_error_recovery": 0, "excessive_buffer_overrun_errors": 0,
                 "note": "ok", "down_since": null, "board_id": "MT_0000000838", "firmware": "28.41.1000", "hca_type": "MT4129"},
                {"device": "mlx5_1", "port": 1, "link_layer": "InfiniBand", "state": "DOWN", "phys_state": "Polling",
                 "rate_gb_sec": 10, "link_downed": 0, "link_error_recovery": 0, "excessive_buffer_overrun_errors": 0,
                 "note": "spare, never connected", "down_since": START, "board_id": "MT_0000000838",
                 "firmware": "28.41.1000", "hca_type": "MT4129"},
                {"device": "mlx5_2", "port": 1, "link_layer": "Ethernet", "state": "ACTIVE", "phys_state": "LinkUp",
                 "rate_gb_sec": 200, "link_downed": null, "link_error_recovery": null,
                 "excessive_buffer_overrun_errors": null, "note": "not InfiniBand, not judged", "down_since": null,
                 "board_id": "MT_0000000838", "firmware": "28.41.1000", "hca_type": "MT4129"},
            ],
        })
    );
}

#[test]
fn very_many_ports_stay_within_the_hosts_bounds() {
    let map = Map::default();
    for number in 0..400 {
        let device = format!("mlx5_with_a_rather_long_name_{number:03}");
        map.up(&device);
        map.set(&format!("{device}/ports/1/state"), &"x".repeat(4_000));
        if number % 2 == 0 {
            map.down(&device);
        }
    }
    let machine = Fake::of(map);
    for seconds in [0, 300] {
        let report = check(
            &context(START + seconds, "b0"),
            &want(400, 400),
            &h100(),
            &machine,
        )
        .unwrap();
        let state = state(&report);
        assert!(state.reason.len() <= 4_096 && state.evidence.len() <= 64);
        assert!(state.extra_info[0].1.len() <= 64 * 1024);
        assert!(report.metrics.len() <= 2_000);
        assert!(machine.kept.borrow().as_ref().unwrap().len() <= 64 * 1024);
    }
}
