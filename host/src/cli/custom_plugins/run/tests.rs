use super::*;
use crate::{plugins::file, spec::PluginFile};

fn script(script: &str) -> PluginFile {
    let text = format!(
        "- plugin_name: A b\n  plugin_type: component\n  run_mode: manual\n  health_state_plugin:\n    steps:\n      \
             - {{name: s, run_bash_script: {{content_type: plaintext, script: '{script}'}}}}\n"
    );
    file::parse(text.as_bytes(), "f.yaml")
}

async fn run(text: &str, stop: &CancellationToken, limit: Duration) -> Outcome {
    let file = script(text);
    let runner = Runner::new(stop, Instant::now() + limit);
    runner.run(&Check::Script(&file.plugins[0])).await
}

fn shown(outcome: &Outcome) -> (&str, &str, &str) {
    let state = &outcome.states[0];
    (&state.health, &state.reason, &state.error)
}

#[tokio::test]
async fn a_script_is_run_even_if_it_is_manual() {
    let outcome = run("echo hi; exit 3", &CancellationToken::new(), LIMIT).await;
    assert_eq!(
        (outcome.component.as_str(), outcome.run_mode.as_str()),
        ("a-b", "manual")
    );
    assert_eq!(
        (outcome.output.as_slice(), outcome.exit_code),
        (&b"hi\n"[..], 3)
    );
    assert_eq!(
        shown(&outcome),
        (
            "Unhealthy",
            "error executing state plugin (exit code: 3)",
            "exit status 3"
        )
    );
}

#[tokio::test]
async fn the_limit_of_all_is_a_deadline_of_each() {
    let failed = "error executing state plugin (exit code: 0)";
    for (limit, error) in [
        (
            Duration::ZERO,
            "failed to start command: context deadline exceeded",
        ),
        (Duration::from_millis(300), "context deadline exceeded"),
    ] {
        let outcome = run("sleep 1000", &CancellationToken::new(), limit).await;
        assert_eq!(shown(&outcome), ("Unhealthy", failed, error));
    }
}

#[tokio::test]
async fn it_stops_when_asked_to() {
    let stop = CancellationToken::new();
    stop.cancel();
    let outcome = run("sleep 1000", &stop, LIMIT).await;
    assert_eq!(shown(&outcome).2, "context canceled");
}
