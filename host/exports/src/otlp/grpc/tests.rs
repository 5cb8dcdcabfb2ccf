use proptest::prelude::*;

use super::*;

/// Makes a `google.rpc.Status` that asks to wait.
pub fn wait(delay: Delay) -> Vec<u8> {
    let info = RetryInfo {
        retry_delay: Some(delay),
    };
    let detail = |kind: &str, value| Detail {
        type_url: format!("type.googleapis.com/google.rpc.{kind}"),
        value,
    };
    let status = RpcStatus {
        code: 14,
        message: "busy".into(),
        details: vec![
            detail("DebugInfo", vec![1]),
            detail("RetryInfo", info.encode_to_vec()),
        ],
    };
    status.encode_to_vec()
}

#[test]
fn frames_are_read_as_they_are_written() {
    let made = framed(b"abc", false).unwrap();
    assert_eq!(made, b"\0\0\0\0\x03abc");
    assert_eq!(message(&made), Some(&b"abc"[..]));
    assert_eq!(framed(b"", true).unwrap(), b"\x01\0\0\0\0");
    for body in [
        &b""[..],
        b"\0\0\0\0",
        b"\0\0\0\0\x04abc",
        b"\x01\0\0\0\x03abc",
        b"\0\xff\xff\xff\xff",
    ] {
        assert_eq!(message(body), None, "{body:?}");
    }
}

#[test]
fn a_status_is_read_with_its_message_and_its_time_to_wait() {
    let mut headers = HeaderMap::new();
    assert_eq!(status(&headers), None);
    headers.insert("grpc-status", "14".parse().unwrap());
    headers.insert("grpc-message", "busy%2C 100%25 %C3%BC".parse().unwrap());
    for encoded in [
        base64::engine::general_purpose::STANDARD.encode(wait(Delay {
            seconds: 7,
            nanos: 500_000_000,
        })),
        base64::engine::general_purpose::STANDARD_NO_PAD.encode(wait(Delay {
            seconds: 7,
            nanos: 500_000_000,
        })),
    ] {
        headers.insert("grpc-status-details-bin", encoded.parse().unwrap());
        let found = GrpcStatus {
            code: 14,
            message: "busy, 100% ü".into(),
            retry_after: Some(Duration::from_millis(7500)),
        };
        assert_eq!(status(&headers), Some(found));
    }
    headers.insert("grpc-status", "no number".parse().unwrap());
    assert_eq!(status(&headers), None);
    let negative = wait(Delay {
        seconds: -7,
        nanos: 0,
    });
    assert_eq!(retry_after(&negative), None);
}

fn judge(code: u32, message: &str, retry_after: Option<Duration>) -> Result<(), DeliveryError> {
    let status = GrpcStatus {
        code,
        message: message.into(),
        retry_after,
    };
    judged(status, "POST http://c:4317")
}

#[test]
fn statuses_are_judged() {
    assert_eq!(judge(0, "", None), Ok(()));
    let wait = Some(Duration::from_secs(3));
    for code in [1, 2, 4, 5, 7, 8, 10, 11, 12, 13, 14, 15, 16, 99] {
        let error = judge(code, "later", wait).unwrap_err();
        assert!(
            matches!(&error, DeliveryError::Transient { retry_after, .. } if *retry_after == wait),
            "{code}: {error}"
        );
    }
    let large = "grpc: received message larger than max (5000000 vs. 4194304)";
    for (code, message) in [(3, "bad"), (8, large)] {
        let error = judge(code, message, None).unwrap_err();
        assert!(matches!(error, DeliveryError::Refused { .. }), "{code}");
    }
    for (code, message, text) in [
        (
            14,
            "no\nroom",
            "POST http://c:4317: answered UNAVAILABLE: no room",
        ),
        (
            16,
            "",
            "POST http://c:4317: answered UNAUTHENTICATED; look at the export's credentials",
        ),
        (77, "", "POST http://c:4317: answered status 77"),
    ] {
        assert_eq!(judge(code, message, None).unwrap_err().to_string(), text);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = message(&bytes);
        let _ = retry_after(&bytes);
    }
}
