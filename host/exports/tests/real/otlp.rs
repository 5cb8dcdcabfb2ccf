//! The export by OTLP against a receiver that speaks both protocols, and fails as asked. `tests/otlp/run.sh` has the
//! whole daemon send to a real collector.

use std::{
    io::Read as _,
    sync::{Arc, Mutex, atomic::AtomicU32, atomic::Ordering},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, Version},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::{FutureExt as _, future::BoxFuture};
use gpud_exports::{
    Clock, Environment, Exports, MachineFacts, Record,
    http::Http,
    metrics::{MetricFamily, MetricKind, MetricReadings, MetricSeries, MetricSource, MetricValue},
};
use http_body_util::{BodyExt as _, Full};
use opentelemetry_proto::tonic::{
    collector::{
        logs::v1::{ExportLogsPartialSuccess, ExportLogsServiceRequest, ExportLogsServiceResponse},
        metrics::v1::ExportMetricsServiceRequest,
    },
    common::v1::{KeyValue, any_value::Value},
    logs::v1::LogRecord,
    metrics::v1::Metric,
};
use prost::Message as _;
use tokio::net::TcpListener;

use crate::server::{AnyFile, Bench, closed_port, configs, eventually, node, record};

/// A request, unpacked.
#[derive(Debug, Clone)]
struct ReceivedExport {
    path: String,
    version: Version,
    headers: HeaderMap,
    message: Vec<u8>,
}

/// What a receiver answers.
#[derive(Debug, Clone)]
enum Answer {
    Takes,
    /// All but so many log records.
    LeavesOut(i64),
    /// A status of gRPC and of HTTP, with how long to wait.
    Fails(u32, StatusCode, Option<u64>),
}

type RespondToExport = dyn Fn(&ReceivedExport) -> Answer + Send + Sync;

#[derive(Clone)]
struct Receiver {
    port: u16,
    got: Arc<Mutex<Vec<ReceivedExport>>>,
    respond: Arc<RespondToExport>,
}

impl Receiver {
    async fn start(
        port: u16,
        respond: impl Fn(&ReceivedExport) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let receiver = Self {
            port: listener.local_addr().unwrap().port(),
            got: Arc::default(),
            respond: Arc::new(respond),
        };
        let router = Router::new().fallback(take).with_state(receiver.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        receiver
    }

    fn got(&self, path: &str) -> Vec<ReceivedExport> {
        let got = self.got.lock().unwrap();
        got.iter().filter(|got| got.path == path).cloned().collect()
    }

    fn logs(&self, path: &str) -> Vec<LogRecord> {
        let decode = |got: &ReceivedExport| {
            ExportLogsServiceRequest::decode(got.message.as_slice()).unwrap()
        };
        let got = self.got(path);
        let groups = got.iter().flat_map(|got| decode(got).resource_logs);
        let scopes = groups.flat_map(|group| group.scope_logs);
        scopes.flat_map(|scope| scope.log_records).collect()
    }
}

async fn take(State(receiver): State<Receiver>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let is_grpc = parts
        .headers
        .get("content-type")
        .is_some_and(|kind| kind == "application/grpc");
    let (is_gzipped, message) = match is_grpc {
        true => (body[0] == 1, body.slice(5..)),
        false => (parts.headers.contains_key("content-encoding"), body),
    };
    let message = match is_gzipped {
        true => {
            let mut unpacked = Vec::new();
            let mut decoder = flate2::read::GzDecoder::new(&message[..]);
            decoder.read_to_end(&mut unpacked).unwrap();
            unpacked
        }
        false => message.to_vec(),
    };
    let got = ReceivedExport {
        path: parts.uri.path().to_owned(),
        version: parts.version,
        headers: parts.headers,
        message,
    };
    let answer = (receiver.respond)(&got);
    receiver.got.lock().unwrap().push(got);
    match is_grpc {
        true => of_grpc(&answer),
        false => of_http(&answer),
    }
}

fn message(answer: &Answer) -> Vec<u8> {
    let partial = match answer {
        Answer::LeavesOut(count) => Some(ExportLogsPartialSuccess {
            rejected_log_records: *count,
            error_message: "too old".into(),
        }),
        _ => None,
    };
    let answer = ExportLogsServiceResponse {
        partial_success: partial,
    };
    answer.encode_to_vec()
}

fn of_http(answer: &Answer) -> Response {
    let response = Response::builder().header("content-type", "application/x-protobuf");
    match answer {
        Answer::Takes | Answer::LeavesOut(_) => response.body(Body::from(message(answer))),
        Answer::Fails(_, status, wait) => {
            let response = response.status(*status);
            let response = match wait {
                Some(seconds) => response.header("retry-after", *seconds),
                None => response,
            };
            // google.rpc.Status with a message.
            response.body(Body::from(&b"\x12\x04busy"[..]))
        }
    }
    .unwrap()
}

fn of_grpc(answer: &Answer) -> Response {
    let response = Response::builder().header("content-type", "application/grpc");
    let body = match answer {
        Answer::Takes | Answer::LeavesOut(_) => {
            let message = message(answer);
            let mut framed = vec![0];
            framed.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
            framed.extend(message);
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", "0".parse().unwrap());
            let body = Full::new(axum::body::Bytes::from(framed));
            Body::new(body.with_trailers(std::future::ready(Some(Ok(trailers)))))
        }
        Answer::Fails(code, _, wait) => {
            let mut response = response
                .header("grpc-status", code.to_string())
                .header("grpc-message", "busy");
            if let Some(seconds) = wait {
                let seconds = u8::try_from(*seconds).unwrap();
                let kind = "type.googleapis.com/google.rpc.RetryInfo";
                let mut detail = vec![0x0a, u8::try_from(kind.len()).unwrap()];
                detail.extend(kind.bytes());
                detail.extend([0x12, 4, 0x0a, 2, 0x08, seconds]);
                let mut status = vec![0x1a, u8::try_from(detail.len()).unwrap()];
                status.extend(detail);
                response = response.header("grpc-status-details-bin", STANDARD.encode(status));
            }
            return response.body(Body::empty()).unwrap();
        }
    };
    response.body(body).unwrap()
}

const LOGS: &str = "/v1/logs";
const METRICS: &str = "/v1/metrics";
const LOGS_BY_GRPC: &str = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
const METRICS_BY_GRPC: &str = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";

fn yaml(port: u16, protocol: &str, further: &str) -> String {
    format!(
        "exports:\n  - {{name: ops, kind: otlp, endpoint: 'http://127.0.0.1:{port}', protocol: {protocol}, \
         longest_pause: 50ms{further}}}\n"
    )
}

fn attribute<'a>(attributes: &'a [KeyValue], key: &str) -> &'a str {
    let mut found = attributes.iter().filter(|attribute| attribute.key == key);
    let value = found.next().unwrap().value.as_ref().unwrap();
    match value.value.as_ref().unwrap() {
        Value::StringValue(text) => text.as_str(),
        other => panic!("{other:?}"),
    }
}

fn ids(records: &[LogRecord]) -> Vec<String> {
    let id = |record: &LogRecord| attribute(&record.attributes, "log.record.uid").to_owned();
    records.iter().map(id).collect()
}

/// Two metrics of a made-up machine.
#[derive(Debug)]
struct Source;

impl MetricSource for Source {
    fn read(&self) -> BoxFuture<'_, MetricReadings> {
        let family = |name: &str, kind, label: (&str, &str)| MetricFamily {
            name: name.to_owned(),
            help: "a reading".to_owned(),
            kind,
            series: vec![MetricSeries {
                component: Some("a".to_owned()),
                labels: vec![(label.0.to_owned(), label.1.to_owned())],
                value: MetricValue::Number(45.0),
            }],
        };
        let temperature = "accelerator_nvidia_temperature_current_celsius";
        let readings = MetricReadings {
            since: 1_790_000_000_000,
            families: vec![
                family(temperature, MetricKind::Gauge, ("uuid", "GPU-1")),
                family("a_total", MetricKind::Counter, ("b", "c")),
            ],
        };
        std::future::ready(readings).boxed()
    }
}

fn with_metrics() -> Exports {
    Exports::new(Environment {
        node: node(),
        machine: MachineFacts {
            arch: "arm64".into(),
            ..MachineFacts::default()
        },
        clock: Clock::new(|| 1_790_000_060_000),
        secrets: Arc::new(AnyFile),
        http: Http::new("gpud/test"),
        metrics: Some(Arc::new(Source)),
        spool_folder: None,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn log_records_and_metrics_arrive_by_both_protocols() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "hunter2\n").unwrap();
    for (protocol, logs, metrics, version, compression) in [
        (
            "grpc",
            LOGS_BY_GRPC,
            METRICS_BY_GRPC,
            Version::HTTP_2,
            "gzip",
        ),
        (
            "grpc",
            LOGS_BY_GRPC,
            METRICS_BY_GRPC,
            Version::HTTP_2,
            "none",
        ),
        ("http/protobuf", LOGS, METRICS, Version::HTTP_11, "gzip"),
        ("http/protobuf", LOGS, METRICS, Version::HTTP_11, "none"),
    ] {
        let receiver = Receiver::start(0, |_| Answer::Takes).await;
        let exports = with_metrics();
        let further = format!(
            ", interval: 1s, compression: {compression}, headers: {{x-team: gpu}}, secret_headers: {{x-key: 'file:{}'}}",
            key.display()
        );
        exports
            .apply(configs(&yaml(receiver.port, protocol, &further)))
            .await;
        let sent = record(1);
        exports.push(&Arc::new(sent.clone()));
        eventually(|| (!receiver.got(logs).is_empty()).then_some(())).await;
        let got = receiver.got(logs)[0].clone();
        assert_eq!(got.version, version, "{protocol}");
        assert_eq!(got.headers["x-team"], "gpu");
        assert_eq!(got.headers["x-key"], "hunter2");
        assert_eq!(got.headers["user-agent"], "gpud/test");
        assert_eq!(ids(&receiver.logs(logs)), [sent.id.to_string()]);
        let resource = ExportLogsServiceRequest::decode(got.message.as_slice()).unwrap();
        let resource = resource.resource_logs[0].resource.clone().unwrap();
        assert_eq!(attribute(&resource.attributes, "host.name"), "node-7");
        assert_eq!(attribute(&resource.attributes, "host.arch"), "arm64");

        eventually(|| (!receiver.got(metrics).is_empty()).then_some(())).await;
        let got = receiver.got(metrics)[0].clone();
        let request = ExportMetricsServiceRequest::decode(got.message.as_slice()).unwrap();
        let scope = request.resource_metrics[0].scope_metrics[0].clone();
        let names: Vec<&str> = scope
            .metrics
            .iter()
            .map(|m: &Metric| m.name.as_str())
            .collect();
        assert_eq!(names, ["a_total", "hw.temperature"], "{protocol}");
        eventually(|| {
            let reason = exports.statuses()[0].view.verdict(1_790_000_061_000).1;
            (reason == "1 delivered, the last 1 s ago; metrics were sent 1 s ago").then_some(())
        })
        .await;
        exports.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_wait_while_the_receiver_is_down_or_asks_for_it() {
    for (protocol, path) in [("grpc", LOGS_BY_GRPC), ("http/protobuf", LOGS)] {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench::new(Some(folder.path().to_owned()));
        let port = closed_port().await;
        bench.apply(&yaml(port, protocol, "")).await;
        let sent: Vec<Record> = (0..250).map(record).collect();
        sent.iter().for_each(|record| bench.push(record));
        bench.says("ops", "250 records wait").await;
        bench.says("ops", "refused").await;
        let left = AtomicU32::new(2);
        let receiver = Receiver::start(port, move |_| {
            let is_busy =
                left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
            match is_busy {
                Ok(_) => Answer::Fails(14, StatusCode::SERVICE_UNAVAILABLE, Some(0)),
                Err(_) => Answer::Takes,
            }
        })
        .await;
        eventually(|| (bench.view("ops").waiting() == 0).then_some(())).await;
        let expected: Vec<String> = sent.iter().map(|record| record.id.to_string()).collect();
        let mut got = ids(&receiver.logs(path));
        got.drain(..200);
        assert_eq!(got, expected, "{protocol}: two tries were turned away");
        assert_eq!(bench.view("ops").dropped, 0);
        bench.exports.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_decide_whether_records_wait_or_are_given_up() {
    for protocol in ["grpc", "http/protobuf"] {
        let receiver = Receiver::start(0, |got| {
            let text = String::from_utf8_lossy(&got.message).into_owned();
            match text.contains("change 3") {
                true => Answer::Fails(3, StatusCode::BAD_REQUEST, None),
                false => Answer::Takes,
            }
        })
        .await;
        let bench = Bench::new(None);
        bench.apply(&yaml(receiver.port, protocol, "")).await;
        (0..8).map(record).for_each(|record| bench.push(&record));
        eventually(|| (bench.view("ops").waiting() == 0).then_some(())).await;
        let view = bench.view("ops");
        assert_eq!((view.delivered, view.refused), (7, 1), "{protocol}");
        bench.says("ops", "busy").await;
        bench.exports.stop().await;

        let receiver = Receiver::start(0, |_| Answer::LeavesOut(2)).await;
        let bench = Bench::new(None);
        bench.apply(&yaml(receiver.port, protocol, "")).await;
        bench.push(&record(1));
        bench.push(&record(2));
        bench.push(&record(3));
        eventually(|| (bench.view("ops").waiting() == 0).then_some(())).await;
        bench.says("ops", "too old").await;
        assert!(bench.view("ops").refused >= 1, "{protocol}");
        bench.exports.stop().await;

        // A minute, which this test does not wait for.
        let receiver = Receiver::start(0, |_| {
            Answer::Fails(8, StatusCode::TOO_MANY_REQUESTS, Some(60))
        })
        .await;
        let bench = Bench::new(None);
        bench.apply(&yaml(receiver.port, protocol, "")).await;
        bench.push(&record(1));
        let reason = bench.says("ops", "next try in 1 min").await;
        assert!(reason.contains("busy"), "{protocol}: {reason}");
        assert_eq!(bench.view("ops").waiting(), 1);
        bench.exports.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_endpoint_is_named() {
    let receiver = Receiver::start(0, |got| match got.path.as_str() {
        LOGS => Answer::Fails(0, StatusCode::NOT_FOUND, None),
        _ => Answer::Fails(12, StatusCode::OK, None),
    })
    .await;
    let bench = Bench::new(None);
    bench.apply(&yaml(receiver.port, "http/protobuf", "")).await;
    bench.push(&record(1));
    bench.says("ops", "look at the export's address").await;
    bench.apply(&yaml(receiver.port, "grpc", "")).await;
    bench.says("ops", "UNIMPLEMENTED").await;
    assert_eq!(bench.view("ops").waiting(), 1);
    bench.exports.stop().await;

    let web = crate::server::Server::start(0, |_| StatusCode::OK).await;
    bench.apply(&yaml(web.port, "grpc", "")).await;
    bench.push(&record(2));
    bench.says("ops", "not by gRPC; look at the address").await;
    bench.exports.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it needs a collector: tests/otlp/run.sh export"]
async fn a_real_collector_takes_both_protocols() {
    let place = std::env::var("GPUD_TEST_OTLP").expect("the ports and files of a collector");
    let parts: Vec<&str> = place.splitn(6, ' ').collect();
    let [grpc, http, grpc_tls, http_tls, certificate, file] = parts[..] else {
        panic!("{place}");
    };
    for (scheme, protocol, port) in [
        ("http", "grpc", grpc),
        ("http", "http/protobuf", http),
        ("https", "grpc", grpc_tls),
        ("https", "http/protobuf", http_tls),
    ] {
        for compression in ["gzip", "none"] {
            let name = format!("{scheme} {protocol} {compression}");
            let exports = with_metrics();
            exports
                .apply(configs(&format!(
                    "exports:\n  - name: ops\n    kind: otlp\n    endpoint: {scheme}://127.0.0.1:{port}\n    \
                     protocol: {protocol}\n    compression: {compression}\n    interval: 1s\n    ca_file: {certificate}\n    \
                     resource: {{test.name: {name}}}\n"
                )))
                .await;
            let sent = record(1);
            exports.push(&Arc::new(sent.clone()));
            eventually(|| {
                let view = exports.statuses()[0].view.clone();
                (view.delivered == 1 && view.metrics.taken >= 2).then_some(())
            })
            .await;
            let view = exports.statuses()[0].view.clone();
            assert_eq!((view.refused, view.metrics.refused), (0, 0), "{name}");
            let received = std::fs::read_to_string(file).unwrap();
            let of_this: Vec<&str> = received
                .lines()
                .filter(|line| line.contains(&name))
                .collect();
            let has = |text: &str| of_this.iter().any(|line| line.contains(text));
            assert!(has(&sent.id.to_string()), "{name}: {of_this:?}");
            assert!(
                has("\"hw.temperature\"") && has("\"a_total\""),
                "{name}: {of_this:?}"
            );
            exports.stop().await;
        }
    }
}
