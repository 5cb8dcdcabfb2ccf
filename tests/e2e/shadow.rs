//! A second version beside a running one: compared, and nothing else.

use http::Method;
use serde_json::Value;

use crate::{
    daemon::{eventually, gpud},
    hot_swap::{Site, guest},
};

fn view(site: &Site) -> Value {
    site.daemon().get("/v1/plugins/shadow?componentName=probe")
}

/// Waits for so many comparisons.
fn compared(site: &Site, count: u64) -> Value {
    eventually("it is compared", || {
        Some(view(site)).filter(|view| view["compared"].as_u64() >= Some(count))
    })
}

#[test]
fn what_it_finds_goes_nowhere_but_into_the_comparison() {
    // The running one panics when a person asks; the second one does not, and has a metric.
    let mut site = Site::new(guest("trap"), "");
    let none = site
        .daemon()
        .send(Method::GET, "/v1/plugins/shadow?componentName=probe");
    assert_eq!(none.0, 404);
    site.put("second.wasm", guest("well_behaved"));
    site.write_spec("  shadow: second.wasm\n");
    let first = eventually("it is compared", || {
        let (status, body) = site
            .daemon()
            .try_get("/v1/plugins/shadow?componentName=probe")?;
        let view: Value = serde_json::from_slice(&body).ok()?;
        (status == 200 && view["compared"] == 1).then_some(view)
    });
    let one = &first["comparisons"][0];
    assert_eq!(
        (&one["same"], &one["call"]),
        (&false.into(), &"check".into())
    );
    assert_eq!(one["differences"].as_array().unwrap().len(), 1, "{one}");
    assert_eq!(one["differences"][0]["what"], "metrics");
    assert_eq!(one["differences"][0]["of"], "well_behaved");
    for cost in [&one["running"], &one["shadow"]] {
        assert!(cost["seconds"].as_f64().unwrap() > 0.0, "{one}");
        assert!(cost["memory_bytes"].as_u64().unwrap() > 0, "{one}");
    }

    let answer = site.trigger();
    assert!(answer["reason"].as_str().unwrap().contains("trapped"));
    let second = compared(&site, 2);
    assert_eq!(second["differing"]["outcome"], 1);
    assert_eq!(second["differing"]["metrics"], 1);
    let newest = &second["comparisons"][0]["differences"][0];
    assert_eq!(
        (&newest["what"], &newest["shadow"]),
        (&"outcome".into(), &"an answer".into())
    );

    let (_, metrics) = site.daemon().send(Method::GET, "/metrics");
    let metrics = String::from_utf8(metrics).unwrap();
    assert!(!metrics.contains("well_behaved"), "{metrics}");
    assert!(metrics.contains("gpud_checker_traps_total{checker=\"probe\"} 1\n"));

    let asked = |json: bool| {
        let mut command = gpud();
        command.args([
            "plugin",
            "shadow",
            "probe",
            "--server",
            &site.daemon().url(),
        ]);
        if json {
            command.arg("--json");
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = asked(false);
    assert!(text.contains("2 calls compared, 0 the same"), "{text}");
    assert!(text.contains("metrics of well_behaved"), "{text}");
    let json: Value = serde_json::from_str(&asked(true)).unwrap();
    assert_eq!(json["component"], "probe");

    // A newer second version is loaded, and begins a comparison of its own.
    site.put("second.wasm", guest("trap"));
    let same = eventually("it is compared", || {
        Some(view(&site)).filter(|view| view["same"].as_u64() >= Some(1))
    });
    assert_ne!(same["digest"], first["digest"]);
    site.restart();
    assert_eq!(compared(&site, 1)["same"], 1);
}

#[test]
fn it_sees_the_same_kernel_messages_and_has_values_of_its_own() {
    let site = Site::new(
        guest("counts_messages"),
        "  grants: { kmsg: true, state: true }\n  shadow: second.wasm\n",
    );
    assert!(
        view(&site)["problem"]
            .as_str()
            .unwrap()
            .contains("second.wasm: no such file")
    );
    site.put("second.wasm", guest("counts_messages"));
    compared(&site, 1);
    for n in 1..=3 {
        site.log_line(n);
        let last = format!("{n}: gpud-swap {n}");
        eventually("the message is counted", || {
            let events = site.daemon().events("probe");
            events
                .iter()
                .any(|one| one["message"] == last.as_str())
                .then_some(())
        });
    }
    let seen = eventually("all are compared", || {
        let view = view(&site);
        let all = view["comparisons"].as_array().unwrap().clone();
        let messages = all.iter().filter(|one| one["call"] == "kernel messages");
        (messages.count() >= 3).then_some(view)
    });
    assert_eq!(seen["compared"], seen["same"], "{seen}");
    assert_eq!(
        site.daemon().events("probe").len(),
        3,
        "none is of the second"
    );
}

#[test]
fn it_is_granted_no_more_than_the_entry() {
    let rest = "  grants: { sysfs: [\"/proc/*\"] }\n  shadow: { path: probe.wasm, grants: { sysfs: [\"/sys/**\"] } }\n";
    let site = Site::new(guest("well_behaved"), rest);
    let problem = view(&site)["problem"].as_str().unwrap().to_owned();
    assert!(problem.contains("grants.sysfs goes beyond"), "{problem}");
    assert_eq!(view(&site)["compared"], 0);
    let cs = gpud()
        .arg("cs")
        .arg(site.path("specs.yaml"))
        .output()
        .unwrap();
    let said = [cs.stdout, cs.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(
        !cs.status.success() && said.contains("goes beyond"),
        "{said}"
    );
    assert!(said.contains("specs.yaml:6:"), "{said}");
    site.write_spec(&rest.replace("/sys/**", "/proc/uptime"));
    eventually("it is compared", || {
        (view(&site)["compared"].as_u64() >= Some(1)).then_some(())
    });
}
