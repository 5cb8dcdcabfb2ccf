use super::*;

fn sites() -> Sites {
    Sites {
        hosts: vec!["node7".into(), ".cluster.example".into()],
        certificate: None,
        origins: vec!["https://grafana.example".into()],
    }
}

fn judge(uri: &str, headers: &[(HeaderName, &str)]) -> Source {
    judge_over(OVER_TLS, uri, headers)
}

fn judge_over(scheme: &str, uri: &str, headers: &[(HeaderName, &str)]) -> Source {
    let headers = headers.iter().map(|(name, value)| {
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        (name.clone(), value)
    });
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        all.append(name, value);
    }
    sites().judge(&uri.parse().unwrap(), &all, scheme)
}

#[test]
fn only_names_of_this_gpud_and_addresses() {
    for host in [
        "localhost:15132",
        "LOCALHOST.",
        "127.0.0.1",
        "[::1]:15132",
        "[::1]",
        "10.0.0.7:443",
        "node7:15132",
        "Node7",
        "a.cluster.example:1",
    ] {
        assert_eq!(judge("/", &[(HOST, host)]), Source::Own, "{host}");
    }
    for host in [
        "",
        ":",
        "evil.example",
        "localhost.evil.example",
        "node7.evil.example",
        "evilcluster.example",
        "127.0.0.1.evil.example",
        "localhost:x",
        "[::1]x",
        "[localhost]",
        "::1",
        "user@localhost",
        "2130706433x",
        "localh\u{f6}st",
    ] {
        let got = judge("/", &[(HOST, host)]);
        assert!(matches!(got, Source::Foreign(_)), "{host}: {got:?}");
    }
    // Both places count, and every header.
    let evil = "https://evil.example/";
    assert!(matches!(
        judge(evil, &[(HOST, "localhost")]),
        Source::Foreign(_)
    ));
    let two = [(HOST, "localhost"), (HOST, "evil.example")];
    assert!(matches!(judge("/", &two), Source::Foreign(_)));
    assert_eq!(judge("/", &[]), Source::Own, "no browser leaves it out");
}

#[test]
fn only_our_own_pages_and_allowed_sites() {
    let host = (HOST, "localhost:15132");
    let with = |name: HeaderName, value| judge("/", &[host.clone(), (name, value)]);
    assert_eq!(with(ORIGIN, "https://localhost:15132"), Source::Own);
    for origin in [
        "null",
        "",
        "https://evil.example",
        "http://localhost:15132",
        "https://localhost",
        "https://localhost:15133",
        "https://grafana.example.evil",
        "https://grafana.example:8443",
        "http://grafana.example",
    ] {
        let got = with(ORIGIN, origin);
        assert!(matches!(got, Source::Foreign(_)), "{origin}: {got:?}");
    }
    let allowed = HeaderValue::from_static("https://grafana.example");
    assert_eq!(
        with(ORIGIN, "https://grafana.example"),
        Source::Allowed(allowed)
    );
    for (value, own) in [
        ("none", true),
        ("same-origin", true),
        ("same-site", false),
        ("cross-site", false),
        ("new-word", false),
    ] {
        assert_eq!(with(SEC_FETCH_SITE, value) == Source::Own, own, "{value}");
    }
    let two = [
        host.clone(),
        (ORIGIN, "https://grafana.example"),
        (ORIGIN, "https://evil.example"),
    ];
    assert!(matches!(judge("/", &two), Source::Foreign(_)));
}

#[test]
fn a_link_leads_to_the_page_and_to_nothing_else() {
    let site = (SEC_FETCH_SITE, "cross-site");
    let followed = [
        (HOST, "localhost:15132"),
        site.clone(),
        (SEC_FETCH_MODE, "navigate"),
        (SEC_FETCH_DEST, "document"),
    ];
    assert_eq!(judge("/", &followed), Source::Own);
    for path in [
        "/v1/states",
        "/v1/components/trigger-check",
        "//",
        "/page/app.js",
    ] {
        let got = judge(path, &followed);
        assert!(matches!(got, Source::Foreign(_)), "{path}: {got:?}");
    }
    for (mode, destination) in [
        ("navigate", "iframe"),
        ("no-cors", "document"),
        ("no-cors", "script"),
        ("cors", "empty"),
    ] {
        let got = judge(
            "/",
            &[
                (HOST, "localhost:15132"),
                site.clone(),
                (SEC_FETCH_MODE, mode),
                (SEC_FETCH_DEST, destination),
            ],
        );
        assert!(matches!(got, Source::Foreign(_)), "{mode} {destination}");
    }
    // Names stay what they are.
    let elsewhere = [
        (HOST, "evil.example"),
        (SEC_FETCH_MODE, "navigate"),
        (SEC_FETCH_DEST, "document"),
    ];
    assert!(matches!(judge("/", &elsewhere), Source::Foreign(_)));
}

#[test]
fn through_the_unix_socket_pages_are_plain() {
    let host = (HOST, "localhost:8080");
    for (scheme, origin, own) in [
        (OVER_LOCAL_SOCKET, "http://localhost:8080", true),
        (OVER_LOCAL_SOCKET, "https://localhost:8080", false),
        (OVER_LOCAL_SOCKET, "http://localhost:8081", false),
        (OVER_LOCAL_SOCKET, "http://evil.example", false),
        (OVER_TLS, "http://localhost:8080", false),
    ] {
        let got = judge_over(scheme, "/", &[host.clone(), (ORIGIN, origin)]);
        assert_eq!(got == Source::Own, own, "{scheme} {origin}");
    }
}

#[test]
fn flags_are_read() {
    assert_eq!(
        parse_hosts(" Node7, .example,*").unwrap(),
        ["node7", ".example", "*"]
    );
    assert!(parse_hosts("node7:15132").is_err() && parse_hosts("https://x").is_err());
    assert_eq!(parse_hosts("").unwrap(), Vec::<String>::new());
    assert_eq!(
        parse_origins("https://Grafana.example, http://a:3000").unwrap(),
        ["https://grafana.example", "http://a:3000"]
    );
    for wrong in ["*", "grafana.example", "https://a/", "null", "https://"] {
        assert!(parse_origins(wrong).unwrap_err().contains(wrong), "{wrong}");
    }
    assert_eq!(
        Sites::names_of_machine("Node7.example\n"),
        ["node7.example", "node7"]
    );
    assert_eq!(Sites::names_of_machine("node7"), ["node7"]);
    assert_eq!(Sites::names_of_machine(""), Vec::<String>::new());
}
