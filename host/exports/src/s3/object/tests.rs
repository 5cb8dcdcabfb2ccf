use super::*;
use crate::row::tests::{change, event};

fn settings(format: &str) -> Settings {
    serde_yaml::from_str(&format!(
            "{{bucket: {{name: b, credentials: environment}}, cluster: c1, prefix: p, format: {format}}}"
        ))
        .unwrap()
}

fn rows() -> Vec<(UnixMillis, Row)> {
    let records = [event(), change()];
    let row = |record: &crate::Record| (record.time, Row::of(record, "c1", "n1"));
    records.iter().map(row).collect()
}

#[test]
fn a_repeat_with_more_records_has_the_same_name() {
    let rows = rows();
    let (first, both) = (
        of_rows(&rows[..1], &settings("json")).unwrap(),
        of_rows(&rows, &settings("json")).unwrap(),
    );
    assert_eq!(first[0].key, both[0].key);
    assert_eq!(
        both[0].key,
        format!(
            "p/year=2026/month=09/day=21/hour=14/cluster=c1/node=n1/{}.jsonl",
            rows[0].1.id
        )
    );
    assert_eq!((first.len(), both.len()), (1, 1));
}

#[test]
fn each_hour_is_an_object() {
    let mut rows = rows();
    rows[1].0 += 3_600_000;
    let made = of_rows(&rows, &settings("csv")).unwrap();
    assert_eq!(made.len(), 2);
    assert!(made[1].key.contains("/hour=15/"), "{}", made[1].key);
    assert!(made[1].key.ends_with(&format!("{}.csv", rows[1].1.id)));
}

#[test]
fn json_and_csv_have_the_same_columns() {
    let rows = rows();
    let made = of_rows(&rows, &settings("json")).unwrap();
    let text = String::from_utf8(made[0].body.clone()).unwrap();
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    let keys = |line: &serde_json::Value| line.as_object().unwrap().len();
    assert_eq!(keys(&lines[0]), COLUMNS.len());
    for column in COLUMNS {
        assert!(lines[0].get(column).is_some(), "{column}");
    }
    assert_eq!(lines[0]["extra_info"]["xid"], "79");
    assert_eq!(lines[1]["health_to"], "Unhealthy");
    let made = of_rows(&rows, &settings("csv")).unwrap();
    let text = String::from_utf8(made[0].body.clone()).unwrap();
    assert!(text.starts_with("id,kind,time,cluster,node,"), "{text}");
    assert!(
        text.contains("\"Xid 79, \"\"off the bus\"\"\nreboot\""),
        "{text}"
    );
    assert!(text.contains(r#""{""xid"":""79""}""#), "{text}");
}
