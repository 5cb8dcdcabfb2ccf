use http::StatusCode;

use super::*;

fn answer(status: u16, body: &str) -> Answer {
    Answer {
        status: StatusCode::from_u16(status).unwrap(),
        body: body.to_owned().into(),
    }
}

#[test]
fn plugins_by_their_component_names() {
    let two = r#"[{"plugin_name":"Fan Tray","plugin_type":"component","run_mode":"auto","timeout":"20s"},
            {"plugin_name":"b\u001b","plugin_type":"wasm","run_mode":""},
            {"plugin_name":"fans","plugin_type":"wasm","run_mode":"auto",
             "not_applicable":{"fans":"not applicable here: no fans","pumps":"not applicable here"}}]"#;
    for (body, expected) in [
        ("null", "No custom plugins registered\n"),
        ("[]", "No custom plugins registered\n"),
        (
            two,
            concat!(
                "Registered custom plugins:\n",
                "- fan-tray (Type: component, Run Mode: auto)\n",
                "- b\\u{1b} (Type: wasm, Run Mode: )\n",
                "- fans (Type: wasm, Run Mode: auto), not applicable here: no fans, pumps: not applicable here\n",
            ),
        ),
    ] {
        assert_eq!(lines(&answer(200, body)).as_deref(), Ok(expected));
    }
}

#[test]
fn specs_as_json() {
    assert_eq!(specs(&answer(200, "null")).as_deref(), Ok("[]\n"));
    let body = r#"[ {"plugin_name": "a"} ]"#;
    assert_eq!(
        specs(&answer(200, body)).as_deref(),
        Ok("[{\"plugin_name\":\"a\"}]\n")
    );
}

#[test]
fn what_is_no_list_is_said() {
    for (status, body, why) in [
        (200, "{}", "this is not a list of plugins: "),
        (
            200,
            r#"[{"plugin_name":"a"}]"#,
            "this is not a list of plugins: missing field",
        ),
        (
            400,
            r#"{"code":{},"message":"invalid content type"}"#,
            "400 Bad Request: invalid content type",
        ),
        (502, "bad gateway", "502 Bad Gateway: bad gateway"),
    ] {
        let error = lines(&answer(status, body)).unwrap_err();
        assert!(error.starts_with(why), "{error}");
    }
}
