use super::*;

#[test]
fn answers_are_judged_in_the_servers_words() {
    let judged = |status: u16, body: &str| {
        let answer = Answer {
            status: StatusCode::from_u16(status).unwrap(),
            retry_after: None,
            body: body.to_owned(),
        };
        judge(answer, "GET https://h/api/v1/nodes/a")
    };
    assert!(judged(200, "{}").is_ok());
    let status = r#"{"kind":"Status","message":"nodes \"a\" is forbidden","code":403}"#;
    let Err(ApiError::Refused(error)) = judged(403, status) else {
        panic!("403 is a refusal");
    };
    assert_eq!(
        error.to_string(),
        "GET https://h/api/v1/nodes/a: answered 403 Forbidden: nodes \"a\" is forbidden; look at the export's credentials"
    );
    assert!(matches!(judged(404, ""), Err(ApiError::NotFound(_))));
    assert!(matches!(judged(409, "x"), Err(ApiError::Conflict(_))));
    assert!(matches!(judged(422, ""), Err(ApiError::Refused(_))));
    for status in [401, 429, 500, 503] {
        assert!(
            matches!(judged(status, ""), Err(ApiError::Other(_))),
            "{status}"
        );
    }
}
