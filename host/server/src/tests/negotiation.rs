//! Form and compression of an answer.

use super::get;
use bytes::Bytes;
use http::{StatusCode, header};
use std::io::Read as _;

#[tokio::test]
async fn content_type_is_judged_to_the_letter_and_last() {
    for path in [
        "/v1/components",
        "/v1/states",
        "/v1/events",
        "/v1/info",
        "/v1/metrics",
        "/v1/plugins",
    ] {
        for wrong in [
            "text/html",
            "application/json; charset=utf-8",
            "Application/JSON",
        ] {
            let got = get(path, &[("content-type", wrong)]).await;
            let body = r#"{"code":{},"message":"invalid content type"}"#;
            assert_eq!(
                (got.status.as_u16(), got.text()),
                (400, body),
                "{path} {wrong}"
            );
        }
        assert_eq!(
            get(path, &[("content-type", "")]).await.status,
            StatusCode::OK
        );
    }
    let unknown = get("/v1/states?components=x", &[("content-type", "text/html")]).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn v1_is_compressed_whatever_its_size_and_nothing_else_is() {
    let unpack = |body: &Bytes| {
        let mut text = String::new();
        flate2::read::GzDecoder::new(&body[..])
            .read_to_string(&mut text)
            .unwrap();
        text
    };
    let gzip = ("accept-encoding", "deflate, gzip;q=0");
    for uri in [
        "/v1/states",
        "/v1/states?components=x",
        "/v1/components/trigger-tag",
        "/v1/plugins",
    ] {
        let (plain, packed) = (get(uri, &[]).await, get(uri, &[gzip]).await);
        assert_eq!(packed.header(header::CONTENT_ENCODING), "gzip", "{uri}");
        assert_eq!(packed.header(header::VARY), "Accept-Encoding");
        assert_eq!(
            (packed.status, unpack(&packed.body)),
            (plain.status, plain.text().to_owned())
        );
        assert_eq!(plain.header(header::CONTENT_ENCODING), "");
        assert_eq!(
            get(uri, &[gzip, ("connection", "Upgrade")])
                .await
                .header(header::CONTENT_ENCODING),
            ""
        );
    }
    for uri in [
        "/healthz",
        "/machine-info",
        "/admin/config",
        "/v1/nothing",
        "/v1/states/",
        "/metrics",
    ] {
        assert_eq!(
            get(uri, &[gzip]).await.header(header::CONTENT_ENCODING),
            "",
            "{uri}"
        );
    }
    let metrics = get("/metrics", &[("accept-encoding", "gzip")]).await;
    assert_eq!(metrics.header(header::CONTENT_ENCODING), "gzip");
    assert!(unpack(&metrics.body).starts_with("cpu_used_percent{"));
}
