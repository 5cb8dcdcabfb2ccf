//! `gpud plugin shadow`: how a version that runs beside a plugin's component compares with it.

use std::path::Path;

use http::Method;
use serde::Deserialize;
use serde_json::Value;

use crate::cli::{
    client::{Answer, Client, reason_of},
    exit::Exit,
    terminal::printable,
};
use crate::text::encode_query_value;

/// The word for programs.
const ERROR_CODE: &str = "failed_to_get_shadow";
/// Comparisons that are printed; `--json` has all.
const PRINTED: usize = 10;

#[derive(Deserialize, Default)]
#[serde(default)]
struct ReportedShadow {
    component: String,
    digest: String,
    problem: String,
    compared: u64,
    same: u64,
    skipped: u64,
    differing: Differing,
    comparisons: Vec<Comparison>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Differing {
    outcome: u64,
    health: u64,
    reason: u64,
    events: u64,
    metrics: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Comparison {
    time: String,
    call: String,
    same: bool,
    differences: Vec<Difference>,
    further_differences: u64,
    running: Cost,
    shadow: Cost,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Difference {
    what: String,
    of: String,
    running: String,
    shadow: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Cost {
    seconds: f64,
    memory_bytes: u64,
}

/// Asks the daemon and prints.
///
/// # Errors
/// It cannot be asked, or nothing runs beside the component.
pub async fn shadow(
    server: &str,
    token_file: Option<&Path>,
    component: &str,
    json: bool,
) -> Result<Exit, Exit> {
    let shown = async {
        let client = Client::of_daemon(server, token_file).map_err(|error| error.to_string())?;
        let target = format!(
            "/v1/plugins/shadow?componentName={}",
            encode_query_value(component)
        );
        let answer = client.send(Method::GET, &target).await;
        show(&answer.map_err(|error| error.to_string())?, json)
    };
    shown.await.map(Exit::success).map_err(|why: String| {
        let message = printable(&format!("failed to get the comparison: {why}"));
        Exit::failure(message).in_json(json, ERROR_CODE)
    })
}

fn show(answer: &Answer, json: bool) -> Result<String, String> {
    if !answer.status.is_success() {
        return Err(reason_of(answer));
    }
    let other = |error: serde_json::Error| format!("this is not a comparison: {error}");
    if json {
        let document: Value = serde_json::from_slice(&answer.body).map_err(other)?;
        return Ok(format!("{document}\n"));
    }
    let view: ReportedShadow = serde_json::from_slice(&answer.body).map_err(other)?;
    Ok(text(&view))
}

fn text(view: &ReportedShadow) -> String {
    let mut lines = vec![format!(
        "{}: beside it runs {}",
        view.component, view.digest
    )];
    if !view.problem.is_empty() {
        lines.push(format!("problem: {}", view.problem));
    }
    let Differing {
        outcome,
        health,
        reason,
        events,
        metrics,
    } = view.differing;
    lines.push(format!(
        "{} calls compared, {} the same, {} left out; \
         different: outcome {outcome}, health {health}, reason {reason}, events {events}, metrics {metrics}",
        view.compared, view.same, view.skipped
    ));
    for one in view.comparisons.iter().take(PRINTED) {
        let verdict = if one.same { "same" } else { "different" };
        lines.push(format!(
            "{} {}: {verdict}; {} against {}",
            one.time,
            one.call,
            cost(&one.running),
            cost(&one.shadow)
        ));
        for difference in &one.differences {
            let Difference {
                what,
                of,
                running,
                shadow,
            } = difference;
            lines.push(format!("  {what} of {of}: {running:?} → {shadow:?}"));
        }
        if one.further_differences > 0 {
            lines.push(format!("  and {} more", one.further_differences));
        }
    }
    let lines: Vec<String> = lines.iter().map(|line| indented(line)).collect();
    lines.join("\n") + "\n"
}

/// Without characters that a terminal would act on; the indentation stays.
fn indented(line: &str) -> String {
    let text = line.trim_start();
    let indentation = line.strip_suffix(text).unwrap_or_default();
    format!("{indentation}{}", printable(text))
}

fn cost(cost: &Cost) -> String {
    let kib = cost.memory_bytes / 1024;
    format!("{:.1} ms and {kib} KiB", cost.seconds * 1000.0)
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer {
            status: StatusCode::from_u16(status).unwrap(),
            body: body.to_owned().into(),
        }
    }

    #[test]
    fn a_comparison_reads_well() {
        let body = r#"{"component":"fan","digest":"sha256:ab","compared":3,"same":2,"skipped":1,
            "differing":{"outcome":0,"health":1,"reason":0,"events":0,"metrics":0},
            "comparisons":[{"time":"2025-03-04T05:06:07Z","call":"check","same":false,
              "differences":[{"what":"health","of":"fan","running":"Healthy","shadow":"Degr\u001baded"}],
              "further_differences":2,
              "running":{"seconds":0.0015,"memory_bytes":65536},"shadow":{"seconds":0.002,"memory_bytes":131072}},
             {"time":"2025-03-04T05:05:07Z","call":"kernel messages","same":true}]}"#;
        let expected = "fan: beside it runs sha256:ab\n\
            3 calls compared, 2 the same, 1 left out; different: outcome 0, health 1, reason 0, events 0, metrics 0\n\
            2025-03-04T05:06:07Z check: different; 1.5 ms and 64 KiB against 2.0 ms and 128 KiB\n  \
            health of fan: \"Healthy\" → \"Degr\\u{1b}aded\"\n  \
            and 2 more\n\
            2025-03-04T05:05:07Z kernel messages: same; 0.0 ms and 0 KiB against 0.0 ms and 0 KiB\n";
        assert_eq!(show(&answer(200, body), false).as_deref(), Ok(expected));
        let json: Value = serde_json::from_str(&show(&answer(200, body), true).unwrap()).unwrap();
        assert_eq!(json["compared"], 3);
    }

    #[test]
    fn what_is_none_is_said() {
        let unknown = answer(404, r#"{"code":{},"message":"component not found"}"#);
        assert!(
            show(&unknown, false)
                .unwrap_err()
                .contains("component not found")
        );
        assert!(
            show(&answer(200, "[1"), true)
                .unwrap_err()
                .contains("not a comparison")
        );
        assert!(
            show(&answer(200, "[1]"), false)
                .unwrap_err()
                .contains("not a comparison")
        );
        let broken = r#"{"component":"a","digest":"","problem":"no such file"}"#;
        let text = show(&answer(200, broken), false).unwrap();
        assert!(text.contains("problem: no such file\n"), "{text}");
    }
}
