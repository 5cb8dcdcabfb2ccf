//! Exports to a real PostgreSQL and an S3 server, which `tests/rows/run.sh export` starts.

use axum::http::StatusCode;
use futures_util::TryStreamExt as _;
use gpud_exports::{
    Finding, GpuIdentity, Inventory, NodeEvent, Record, Severity, Snapshot, Subject,
};
use object_store::{
    ObjectStore, ObjectStoreExt as _,
    aws::{AmazonS3, AmazonS3Builder},
    client::{ClientOptions, HttpClient, HttpConnector},
};
use serde_json::Value;
use tokio_postgres::{Client, NoTls};

use crate::server::{Bench, Server, any_peer, closed_port, eventually, node, record};

/// What `tests/rows/servers.py` prints.
fn facts() -> Value {
    serde_json::from_str(&std::env::var("GPUD_TEST_ROWS").unwrap()).unwrap()
}

fn text<'a>(facts: &'a Value, server: &str, key: &str) -> &'a str {
    facts[server][key].as_str().unwrap()
}

/// The administrator's connection.
async fn admin() -> Client {
    let facts = facts();
    let mut config = tokio_postgres::Config::new();
    config
        .host(text(&facts, "postgres", "host"))
        .port(facts["postgres"]["port"].as_u64().unwrap() as u16)
        .dbname("gpud")
        .user("gpud")
        .password(text(&facts, "postgres", "password"));
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn count(client: &Client, table: &str) -> i64 {
    let counted = format!("SELECT count(*) FROM {table}");
    client.query(&counted, &[]).await.unwrap()[0].get(0)
}

/// An export to PostgreSQL; `server` and `more` are further keys.
fn postgres(folder: &std::path::Path, port: u64, server: &str, more: &str) -> String {
    let password = folder.join("password");
    std::fs::write(&password, text(&facts(), "postgres", "password")).unwrap();
    let password = password.display();
    format!(
        "exports:\n  - name: db\n    kind: postgres\n    longest_pause: 50ms\n    timeout: 5s\n    cluster: c1\n    \
         server: {{host: localhost, port: {port}, database: gpud, user: gpud, password: 'file:{password}'{server}}}\n{more}"
    )
}

fn port() -> u64 {
    facts()["postgres"]["port"].as_u64().unwrap()
}

fn verified() -> String {
    let facts = facts();
    format!(", ca_file: '{}'", text(&facts, "postgres", "certificate"))
}

fn event(number: u64, serial: &str) -> Record {
    let event = NodeEvent {
        component: "accelerator-nvidia-error-xid".into(),
        name: "error_xid".into(),
        severity: Severity::Fatal,
        message: format!("Xid 79, \"ümlaut\", a NUL \0 and\na line, {number}"),
        extra_info: [("xid".to_owned(), "79\0".to_owned())].into(),
    };
    Record {
        subject: Some(Subject::Gpu {
            uuid: Some("GPU-1".into()),
            serial: Some(serial.to_owned()),
            pci: None,
            index: Some(3),
        }),
        ..Record::new(1_790_000_000_000 + number, node(), Finding::Event(event))
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the servers of tests/rows"]
async fn nothing_is_lost_or_doubled_in_tables() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(Some(folder.path().join("spool")));
    let more = "    table_prefix: once_\n    batch_records: 40\n";
    let closed = u64::from(closed_port().await);
    bench
        .apply(&postgres(folder.path(), closed, &verified(), more))
        .await;
    let sent: Vec<Record> = (0..100)
        .flat_map(|number| [record(number), event(number, "1650")])
        .collect();
    sent.iter().for_each(|record| bench.push(record));
    let reason = bench.says("db", "200 records wait").await;
    assert!(reason.contains("refused"), "{reason}");
    bench
        .apply(&postgres(folder.path(), port(), &verified(), more))
        .await;
    eventually(|| (bench.view("db").waiting() == 0).then_some(())).await;
    // The same once more, as after a crash before the acknowledgement.
    sent.iter().for_each(|record| bench.push(record));
    eventually(|| (bench.view("db").delivered == 400).then_some(())).await;
    bench.exports.stop().await;
    let client = admin().await;
    assert_eq!(count(&client, "once_events").await, 100);
    assert_eq!(count(&client, "once_health_changes").await, 100);
    let rows = client
        .query(
            "SELECT time::text, cluster, node, machine_id, severity, message, extra_info->>'xid', gpu_serial, gpu_index, \
             subject, sample, gpu_pci FROM once_events ORDER BY time LIMIT 1",
            &[],
        )
        .await
        .unwrap();
    let cell = |column: usize| rows[0].get::<_, String>(column);
    assert_eq!(cell(0), "2026-09-21 14:13:20+00");
    assert_eq!(
        (cell(1), cell(2), cell(3)),
        ("c1".into(), "node-7".into(), "4c4c".into())
    );
    assert_eq!(cell(4), "Fatal");
    assert_eq!(cell(5), "Xid 79, \"ümlaut\", a NUL  and\na line, 0");
    assert_eq!(
        (cell(6), cell(7), cell(9)),
        ("79".into(), "1650".into(), "gpu/GPU-1".into())
    );
    assert_eq!(rows[0].get::<_, i32>(8), 3);
    assert!(!rows[0].get::<_, bool>(10));
    assert_eq!(rows[0].get::<_, Option<String>>(11), None);
    let rows = client
        .query(
            "SELECT suggested_actions, health_to FROM once_health_changes LIMIT 1",
            &[],
        )
        .await
        .unwrap();
    assert_eq!(rows[0].get::<_, Vec<String>>(0), ["HARDWARE_INSPECTION"]);
    assert_eq!(rows[0].get::<_, String>(1), "Unhealthy");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the servers of tests/rows"]
async fn many_nodes_may_make_the_tables_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = postgres(
        folder.path(),
        port(),
        ", tls: require",
        "    table_prefix: many_\n",
    );
    let mut benches = Vec::new();
    for _ in 0..8 {
        let bench = Bench::new(None);
        bench.apply(&yaml).await;
        bench.push(&record(1));
        benches.push(bench);
    }
    for bench in &benches {
        eventually(|| (bench.view("db").delivered == 1).then_some(())).await;
        assert_eq!(bench.view("db").failures, 0);
        bench.exports.stop().await;
    }
    assert_eq!(count(&admin().await, "many_health_changes").await, 8);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the servers of tests/rows"]
async fn a_row_that_never_fits_is_given_up_and_a_connection_that_ends_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(None);
    let more = "    table_prefix: odd_\n";
    bench
        .apply(&postgres(folder.path(), port(), ", tls: require", more))
        .await;
    // Longer than an index takes, and not to be compressed.
    let serial: String = (0..400).map(|_| uuid::Uuid::new_v4().to_string()).collect();
    for number in 0..8 {
        let serial = if number == 3 { &serial } else { "1650" };
        bench.push(&event(number, serial));
    }
    eventually(|| (bench.view("db").waiting() == 0).then_some(())).await;
    let view = bench.view("db");
    assert_eq!((view.delivered, view.refused), (7, 1));
    bench.says("db", "(54000)").await;
    let client = admin().await;
    let ended = client
        .query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gpud' AND query LIKE '%odd_%'",
            &[],
        )
        .await
        .unwrap();
    assert!(!ended.is_empty());
    bench.push(&record(20));
    eventually(|| (bench.view("db").delivered == 8).then_some(())).await;
    // Somebody removes the tables: they are made again.
    client
        .batch_execute("DROP TABLE odd_events, odd_health_changes")
        .await
        .unwrap();
    bench.push(&record(21));
    eventually(|| (bench.view("db").delivered == 9).then_some(())).await;
    assert_eq!(count(&client, "odd_health_changes").await, 1);
    bench.exports.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the servers of tests/rows"]
async fn databases_are_verified_as_the_operator_wants_it() {
    let folder = tempfile::tempdir().unwrap();
    let facts = facts();
    let (certificate, socket) = (
        text(&facts, "postgres", "certificate"),
        text(&facts, "postgres", "socket"),
    );
    let more = "    table_prefix: tls_\n";
    for (server, host, said) in [
        (
            format!(", tls: verify-full, ca_file: '{certificate}'"),
            "localhost",
            None,
        ),
        (
            format!(", tls: verify-ca, ca_file: '{certificate}'"),
            "127.0.0.1",
            None,
        ),
        (", tls: require".to_owned(), "127.0.0.1", None),
        (", tls: disable".to_owned(), "127.0.0.1", None),
        (String::new(), socket, None),
        (
            format!(", ca_file: '{certificate}'"),
            "127.0.0.1",
            Some("certificate"),
        ),
        (String::new(), "localhost", Some("certificate")),
        (
            ", tls: verify-ca".to_owned(),
            "localhost",
            Some("certificate"),
        ),
    ] {
        let bench = Bench::new(None);
        let yaml = postgres(folder.path(), port(), &server, more);
        bench
            .apply(&yaml.replace("host: localhost", &format!("host: '{host}'")))
            .await;
        bench.push(&record(1));
        match said {
            None => eventually(|| (bench.view("db").delivered == 1).then_some(())).await,
            Some(said) => drop(bench.says("db", said).await),
        }
        bench.exports.stop().await;
    }
    let bench = Bench::new(None);
    bench
        .apply(&postgres(
            folder.path(),
            port(),
            ", tls: require",
            "    table_prefix: none_\n    create_tables: false\n",
        ))
        .await;
    bench.push(&record(1));
    bench
        .says("db", "there is no table \"public\".\"none_events\"")
        .await;
    let yaml = postgres(folder.path(), port(), ", tls: require", more);
    std::fs::write(folder.path().join("password"), "another").unwrap();
    bench.apply(&yaml).await;
    bench.says("db", "look at user and password").await;
    // A new password counts at once.
    std::fs::write(
        folder.path().join("password"),
        text(&facts, "postgres", "password"),
    )
    .unwrap();
    eventually(|| (bench.view("db").delivered == 1).then_some(())).await;
    bench.exports.stop().await;
}

#[derive(Debug)]
struct Connector(reqwest::Client);

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.0.clone()))
    }
}

fn bucket() -> AmazonS3 {
    let facts = facts();
    let http = gpud_exports::http::Http::new("admin");
    let client = http.client(None, &any_peer()).unwrap();
    AmazonS3Builder::new()
        .with_bucket_name(text(&facts, "s3", "bucket"))
        .with_endpoint(text(&facts, "s3", "address"))
        .with_access_key_id(text(&facts, "s3", "key"))
        .with_secret_access_key(text(&facts, "s3", "secret"))
        .with_http_connector(Connector(client))
        .build()
        .unwrap()
}

/// The objects below a prefix, with what is in them.
async fn objects(prefix: &str) -> Vec<(String, String)> {
    let bucket = bucket();
    let prefix = object_store::path::Path::from(prefix);
    let listed: Vec<_> = bucket.list(Some(&prefix)).try_collect().await.unwrap();
    let mut objects = Vec::new();
    for object in listed {
        let got = bucket.get(&object.location).await.unwrap();
        let body = got.bytes().await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        objects.push((object.location.to_string(), body));
    }
    objects.sort();
    objects
}

/// The keys of the bucket, with the secret in a file of `folder`.
fn bucket_yaml(folder: &std::path::Path) -> String {
    let facts = facts();
    for name in ["key", "secret"] {
        std::fs::write(folder.join(name), text(&facts, "s3", name)).unwrap();
    }
    let (name, address, folder) = (
        text(&facts, "s3", "bucket"),
        text(&facts, "s3", "address"),
        folder.display(),
    );
    format!(
        "{{name: {name}, endpoint: '{address}', access_key_id: 'file:{folder}/key', secret_access_key: 'file:{folder}/secret'}}"
    )
}

fn s3(folder: &std::path::Path, more: &str) -> String {
    let bucket = bucket_yaml(folder);
    format!(
        "exports:\n  - name: lake\n    kind: s3\n    longest_pause: 50ms\n    cluster: c1\n    bucket: {bucket}\n{more}"
    )
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the servers of tests/rows"]
async fn nothing_is_lost_or_doubled_in_objects() {
    let folder = tempfile::tempdir().unwrap();
    let sent: Vec<Record> = (0..3)
        .flat_map(|number| [record(number), event(number, "1650")])
        .collect();
    let more = "    prefix: once\n    gather: 500ms\n";
    for round in 0..2 {
        let bench = Bench::new(None);
        let yaml = s3(folder.path(), more);
        // At first with a secret that is none.
        std::fs::write(folder.path().join("secret"), "no secret").unwrap();
        bench.apply(&yaml).await;
        // The second time there are more records by the time that it works.
        sent[..if round == 0 { 4 } else { 6 }]
            .iter()
            .for_each(|record| bench.push(record));
        bench.says("lake", "look at the export's credentials").await;
        let facts = facts();
        std::fs::write(folder.path().join("secret"), text(&facts, "s3", "secret")).unwrap();
        eventually(|| (bench.view("lake").waiting() == 0).then_some(())).await;
        bench.exports.stop().await;
    }
    let objects = objects("once").await;
    assert_eq!(objects.len(), 1, "{objects:?}");
    let (name, body) = &objects[0];
    assert_eq!(
        *name,
        format!(
            "once/year=2026/month=09/day=21/hour=14/cluster=c1/node=node-7/{}.jsonl",
            sent[0].id
        )
    );
    let ids: Vec<String> = body
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["id"].as_str().unwrap().to_owned()
        })
        .collect();
    let expected: Vec<String> = sent.iter().map(|record| record.id.to_string()).collect();
    assert_eq!(ids, expected);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the servers of tests/rows"]
async fn records_that_come_together_are_one_object() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(Some(folder.path().join("spool")));
    let more = "    prefix: together\n    format: csv\n    gather: 15m\n    batch_records: 5\n";
    bench.apply(&s3(folder.path(), more)).await;
    (0..5).for_each(|number| bench.push(&record(number)));
    // A full batch does not wait.
    eventually(|| (bench.view("lake").delivered == 5).then_some(())).await;
    // At the stop, nothing waits any more.
    bench.push(&record(9));
    eventually(|| (bench.view("lake").spooled == 1).then_some(())).await;
    bench.exports.stop().await;
    let objects = objects("together").await;
    let lines: Vec<usize> = objects
        .iter()
        .map(|(_, body)| body.lines().count())
        .collect();
    assert_eq!(lines, [6, 2], "{objects:?}");
    assert!(objects[0].1.starts_with("id,kind,time,"));
}

fn snapshot(serials: &[&str]) -> Snapshot {
    let gpus = serials
        .iter()
        .enumerate()
        .map(|(index, serial)| GpuIdentity {
            index: u32::try_from(index).unwrap(),
            serial: (*serial).to_owned(),
            ..GpuIdentity::default()
        });
    Snapshot {
        node: node(),
        components: Vec::new(),
        inventory: Inventory {
            chassis_serial: "C-1".into(),
            gpus: gpus.collect(),
            ..Inventory::default()
        },
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the servers of tests/rows"]
async fn each_serial_number_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(0, |_| StatusCode::CREATED).await;
    let token = folder.path().join("token");
    std::fs::write(&token, "hunter2").unwrap();
    let (port_http, token, bucket) = (server.port, token.display(), bucket_yaml(folder.path()));
    let password = folder.path().join("password");
    std::fs::write(&password, text(&facts(), "postgres", "password")).unwrap();
    let (password, port) = (password.display(), port());
    let bench = Bench::new(None);
    bench
        .apply(&format!(
            "exports:\n  - {{name: web, kind: inventory, cluster: c1, machine: i-1, http: {{url: 'http://127.0.0.1:{port_http}/x', bearer_token: \
             'file:{token}'}}}}\n  - {{name: lake, kind: inventory, cluster: c1, s3: {{bucket: {bucket}, prefix: serials}}}}\n  - {{name: out, \
             kind: inventory, cluster: c1, stdout: true}}\n  - name: db\n    kind: inventory\n    cluster: c1\n    postgres: {{server: {{host: localhost, \
             port: {port}, database: gpud, user: gpud, tls: require, password: 'file:{password}'}}}}\n"
        ))
        .await;
    let names = ["web", "lake", "out", "db"];
    bench.exports.show(snapshot(&[]));
    bench.exports.show(snapshot(&["1", "1", "2", ""]));
    let successes = |name: &str| bench.view(name).inventory.map_or(0, |i| i.successes);
    for name in names {
        eventually(|| (successes(name) == 1).then_some(())).await;
    }
    // A GPU is replaced.
    bench
        .now
        .fetch_add(60_000, std::sync::atomic::Ordering::SeqCst);
    bench.exports.show(snapshot(&["1", "3"]));
    for name in names {
        eventually(|| (successes(name) == 2).then_some(())).await;
        let counts = bench.view(name).inventory.unwrap();
        assert!(counts.failures.is_empty(), "{counts:?}");
    }
    bench.exports.stop().await;
    let got = server.got();
    assert_eq!(got[0].header("authorization"), "Bearer hunter2");
    assert_eq!(got[0].header("x-records-count"), "2");
    assert_eq!(
        got[0].json()[1],
        serde_json::json!({"cluster": "c1", "node": "node-7", "machine": "i-1", "source": "gpud", "chassis": "C-1", "gpu": "2",
            "time": "2026-09-21T14:13:20Z"})
    );
    let rows = admin()
        .await
        .query(
            "SELECT gpu, chassis, machine FROM serials ORDER BY read_time, gpu",
            &[],
        )
        .await
        .unwrap();
    let gpus: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(gpus, ["1", "2", "1", "3"]);
    assert_eq!(rows[0].get::<_, String>(2), "4c4c");
    let objects = objects("serials").await;
    let bodies: Vec<&str> = objects.iter().map(|(_, body)| body.as_str()).collect();
    assert_eq!(
        bodies[0],
        "c1,node-7,4c4c,gpud,C-1,1,2026-09-21T14:13:20Z\r\nc1,node-7,4c4c,gpud,C-1,2,2026-09-21T14:13:20Z\r\n"
    );
    assert_eq!(bodies.len(), 2);
}
