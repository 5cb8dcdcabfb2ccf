//! Requests made up at random: every answer is one that is described, and nothing happens that was not asked for.

use super::ask_with;
use crate::{openapi, routes::routes, test_backend::Fake};
use axum::body::Body;
use http::{Method, Uri};
use proptest::{prelude::*, sample::Index};
use std::sync::Arc;

/// Parts of a query as clients write them, and as they should not.
fn query() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("components".to_owned()),
        Just("componentName".to_owned()),
        Just("tagName".to_owned()),
        Just("startTime".to_owned()),
        Just("endTime".to_owned()),
        Just("since".to_owned()),
        "[a-zA-Z%0-9]{0,6}",
    ];
    let value = prop_oneof![
        "[!$%&'()*+,./0-9:;=?@A-Z_a-z~-]{0,30}",
        "-?[0-9]{1,25}",
        "-?[0-9]{1,12}(ns|us|ms|s|m|h|d)?",
        "(cpu|fan-tray|x|,|good|mixed){0,4}",
    ];
    let pair = (name, value).prop_map(|(name, value)| format!("{name}={value}"));
    prop::collection::vec(pair, 0..5).prop_map(|pairs| pairs.join("&"))
}

fn header_value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("application/json".to_owned()),
        Just("application/yaml".to_owned()),
        Just("true".to_owned()),
        Just("gzip".to_owned()),
        "[!-~]{0,40}",
    ]
}

fn answer<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn whatever_is_asked_the_answer_is_described(
        which in any::<Index>(),
        query in query(),
        content_type in header_value(),
        encoding in header_value(),
        indent in header_value(),
    ) {
        let all: Vec<_> = routes(false).collect();
        let route = which.get(&all);
        let uri = format!("{}?{query}", route.path);
        // The check of `disk` panics, which is another test.
        prop_assume!(uri.parse::<Uri>().is_ok() && !query.contains("disk"));
        let headers = [
            ("content-type", content_type.as_str()),
            ("accept-encoding", encoding.as_str()),
            ("accept", encoding.as_str()),
            ("json-indent", indent.as_str()),
        ];
        let method = Method::from_bytes(route.method.as_bytes()).unwrap();
        let backend = Arc::<Fake>::default();
        let got = answer(ask_with(&backend, method, &uri, &headers, Body::empty()));
        let status = got.status.as_u16();
        prop_assert!(status < 500, "{uri}: {status}");
        prop_assert!(openapi::answers(route).any(|answer| answer.status == status), "{uri}: {status}");
        prop_assert!(backend.injected.lock().unwrap().is_empty());
    }

    #[test]
    fn whatever_the_body_is_a_line_is_written_or_refused(
        body in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "[{}\\[\\]\",:a-z0-9 ]{0,80}".prop_map(String::into_bytes),
            (any::<i64>(), "\\PC{0,20}", ".{0,1200}").prop_map(|(id, priority, message)| {
                let xid = if id % 3 == 0 { serde_json::json!({"id": id}) } else { serde_json::json!(null) };
                let line = serde_json::json!({"priority": priority, "message": message});
                serde_json::json!({"xid": xid, "kernel_message": line}).to_string().into_bytes()
            }),
        ]
    ) {
        let backend = Arc::<Fake>::default();
        let got = answer(ask_with(&backend, Method::POST, "/inject-fault", &[], Body::from(body)));
        let written = backend.injected.lock().unwrap();
        prop_assert_eq!(written.len(), usize::from(got.status == 200));
        prop_assert!(got.status == 200 || got.status == 400);
        prop_assert!(written.iter().all(|(_, line)| line.len() <= 976));
    }
}
