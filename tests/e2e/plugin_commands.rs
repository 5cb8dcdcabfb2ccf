//! `gpud list-plugins` and `gpud run-plugin-group` on a daemon.

use serde_json::{Value, json};

use crate::{
    daemon::{Start, eventually, free_port, gpud},
    spec_file::{FAN_TRAY, Spec, plugin, said, strings},
};

#[test]
fn a_daemon_lists_its_plugins_and_checks_those_with_a_tag() {
    let mut text = FAN_TRAY.replace("run_mode: auto", "run_mode: manual");
    text += &plugin("Calm One", "component", ":").replace(
        "  health_state_plugin",
        "  tags: [calm, both]\n  health_state_plugin",
    );
    let text = text.replace("[cooling]", "[cooling, both]");
    let spec = Spec::new(&text);
    let path = spec.path();
    let daemon = Start::new()
        .arguments(&[
            "--components=none",
            "--plugin-specs-file",
            path.to_str().unwrap(),
        ])
        .spawn();
    let ask = |words: &[&str]| said(gpud().args(words).args(["--server", &daemon.url()]));
    let listed = eventually("its plugins are registered", || {
        let listed = ask(&["list-plugins"]);
        (listed.code == Some(0) && listed.out.contains("calm-one")).then_some(listed)
    });
    assert_eq!(
        listed.out,
        "Registered custom plugins:\n\
         - calm-one (Type: component, Run Mode: )\n\
         - fan-tray (Type: component, Run Mode: manual)\n"
    );
    let specs: Value = serde_json::from_str(&ask(&["lp", "--json"]).out).unwrap();
    assert_eq!(strings(&specs, "plugin_name"), ["Calm One", "Fan Tray"]);

    for (tag, expected) in [
        (
            "calm",
            Ok("Successfully triggered component check for tag: calm\n"),
        ),
        (
            "no body",
            Ok("Successfully triggered component check for tag: no body\n"),
        ),
        (
            "both",
            Err(
                "✘ failed to trigger component check for tag both: health check failed for tag both, components: \
                 [fan-tray (Unhealthy: unexpected plugin output)]\n",
            ),
        ),
    ] {
        let said = ask(&["run-plugin-group", tag]);
        match expected {
            Ok(out) => assert_eq!((said.code, said.out.as_str()), (Some(0), out), "{tag}"),
            Err(err) => assert_eq!((said.code, said.err.as_str()), (Some(1), err), "{tag}"),
        }
    }
    let state = daemon.state("fan-tray");
    assert_eq!(
        state["reason"], "unexpected plugin output",
        "it was checked"
    );

    let none = Start::new()
        .arguments(&["--components=none", "--plugin-specs-file="])
        .spawn();
    let said = eventually("it answers", || {
        let said = said(gpud().args(["lp", "--server", &none.url()]));
        (said.code == Some(0)).then_some(said)
    });
    assert_eq!(said.out, "No custom plugins registered\n");
}

#[test]
fn without_a_daemon_both_say_so() {
    let server = format!("https://127.0.0.1:{}", free_port());
    for (words, message) in [
        (&["list-plugins"][..], "✘ failed to get custom plugins: "),
        (
            &["run-plugin-group", "t"],
            "✘ failed to trigger component check for tag t: ",
        ),
    ] {
        let said = said(gpud().args(words).args(["--server", &server]));
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
        assert!(said.err.starts_with(message), "{}", said.err);
        assert!(said.err.contains("is gpud running?"), "{}", said.err);
    }
    let said = said(gpud().args(["lp", "--json", "--server", &server]));
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(
        (said.code, &document["error"]["code"]),
        (Some(1), &json!("failed_to_get_custom_plugins"))
    );
    let said = self::said(gpud().arg("run-plugin-group"));
    assert_eq!(
        (said.code, said.err.as_str()),
        (Some(1), "✘ exactly one argument (tag_name) is required\n")
    );
}
