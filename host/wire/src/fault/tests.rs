use super::*;

fn line(priority: &str, message: &str) -> Option<KernelMessage> {
    Some(KernelMessage {
        priority: priority.into(),
        message: message.into(),
    })
}

#[test]
fn reads_leniently() {
    for (body, xid, kernel_message) in [
        (r#"{"xid":{"id":79}}"#, Some(79), None),
        (r#"{"XID":{"Id":-1},"more":[1]} trailing"#, Some(-1), None),
        (r#"{"xid":{}}"#, Some(0), None),
        (r#"{"xid":null}"#, None, None),
        ("null", None, None),
        (
            r#"{"kernel_message":{"priority":"KERN_ERR","message":"hi"}}"#,
            None,
            line("KERN_ERR", "hi"),
        ),
        (
            r#"{"xid":{"id":1},"kernel_message":{}}"#,
            Some(1),
            line("", ""),
        ),
    ] {
        assert_eq!(
            FaultRequest::decode(body.as_bytes()).unwrap(),
            FaultRequest {
                xid,
                kernel_message
            },
            "{body}"
        );
    }
}

#[test]
fn says_what_is_wrong() {
    for (body, message) in [
        ("", "EOF"),
        (" \n", "EOF"),
        (r#"{"xid":"#, "unexpected EOF"),
        ("x", "expected value at line 1 column 1"),
        ("[]", "json: cannot unmarshal array into the request"),
        (r#"{"xid":79}"#, "json: cannot unmarshal number into xid"),
        (
            r#"{"xid":{"id":"79"}}"#,
            "json: cannot unmarshal string into xid.id of type int",
        ),
        (
            r#"{"xid":{"id":1.5}}"#,
            "json: cannot unmarshal number into xid.id of type int",
        ),
    ] {
        assert_eq!(
            FaultRequest::decode(body.as_bytes())
                .unwrap_err()
                .to_string(),
            message,
            "{body}"
        );
    }
}
