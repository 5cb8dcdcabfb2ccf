//! The HTTP API of a running daemon.

use http::Method;
use serde_json::json;

use gpud::component::builtin;

use crate::daemon::{Start, gpud};

#[test]
fn answers_as_gpud_does() {
    let daemon = Start::new().ready();
    let (status, body) = daemon.send(Method::GET, "/healthz");
    assert_eq!(
        (status, body.as_slice()),
        (200, br#"{"status":"ok","version":"v1"}"#.as_slice())
    );
    let embedded: Vec<&str> = builtin::all().iter().map(|b| b.component).collect();
    assert_eq!(daemon.get("/v1/components"), json!(embedded));
    for name in [
        "accelerator-nvidia-error-xid",
        "cpu",
        "disk",
        "memory",
        "os",
    ] {
        assert!(embedded.contains(&name), "{name}");
    }
    let cpu = daemon.state("cpu");
    assert_eq!(
        (&cpu["component"], &cpu["name"], &cpu["reason"]),
        (&json!("cpu"), &json!("cpu"), &json!("ok"))
    );
    assert!(
        cpu["extra_info"]["data"]
            .as_str()
            .unwrap()
            .starts_with("{\"cores\":{\"logical\":")
    );

    let (status, body) = daemon.send(Method::GET, "/v1/states?components=nope");
    let text =
        "{\"code\":{},\"message\":\"component not found: component nope not found (not found)\"}";
    assert_eq!(
        (status, String::from_utf8(body).unwrap().as_str()),
        (404, text)
    );

    let triggered = daemon.get("/v1/components/trigger-check?componentName=memory");
    assert_eq!(triggered[0]["component"], "memory");
    assert_eq!(
        daemon.get("/v1/components/trigger-tag?tagName=cpu"),
        json!({"components": ["cpu"], "exit": 0, "success": true})
    );
    assert_eq!(daemon.get("/machine-info")["operatingSystem"], "linux");
    assert_eq!(
        daemon.get("/admin/config")["data_dir"],
        json!(daemon.folder().display().to_string())
    );
    let info = daemon.get("/v1/info?components=cpu");
    assert_eq!(info[0]["info"]["states"][0]["health"], "Healthy");
}

#[test]
fn bills_every_checker() {
    let daemon = Start::new().ready();
    let (_, body) = daemon.send(Method::GET, "/metrics");
    let text = String::from_utf8(body).unwrap();
    for series in [
        "cpu_used_percent{gpud_component=\"cpu\"} ",
        "gpud_checker_seconds_total{checker=\"cpu\"} ",
        "gpud_checker_memory_high_water_bytes{checker=\"disk\"} ",
        "gpud_checker_host_calls_total{checker=\"os\"} ",
        "gpud_checker_files_total{checker=\"os\"} ",
        "gpud_checker_bytes_total{checker=\"memory\"} ",
        "gpud_kmsg_following 1",
        "gpud_component_health{gpud_component=\"cpu\",health=\"Healthy\"} 1",
        "gpud_component_last_check_timestamp_seconds{gpud_component=\"cpu\"} ",
        "gpud_build_info{version=",
        "process_cpu_seconds_total ",
        "gpud_sqlite_insert_update_total ",
    ] {
        let line = text.lines().find(|line| line.starts_with(series));
        let value: f64 = line
            .and_then(|line| line.rsplit(' ').next()?.parse().ok())
            .unwrap_or(-1.0);
        assert!(value > 0.0, "{series}: {line:?}");
    }
}

#[test]
fn only_chosen_components_run() {
    let daemon = Start::new().arguments(&["--components=cpu,memory"]).ready();
    assert_eq!(daemon.get("/v1/components"), json!(["cpu", "memory"]));
    let daemon = Start::new().arguments(&["--components=none"]).spawn();
    crate::daemon::eventually("it answers", || {
        daemon
            .log()
            .contains("all components are loaded")
            .then_some(())
    });
    assert_eq!(daemon.get("/v1/components"), json!([]));
}

#[test]
fn set_healthy_by_command_reports_the_changed_components() {
    let daemon = Start::new().ready();
    let set = |names: &str| {
        let output = gpud()
            .args(["set-healthy", names, "--server", &daemon.url()])
            .output()
            .unwrap();
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    assert_eq!(
        set("disk"),
        (
            true,
            "successfully set components to healthy: disk\n".into()
        )
    );
    assert!(!set("cpu").0, "cpu has nothing to set");
}
