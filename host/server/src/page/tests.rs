use super::*;

/// All files together, compressed.
const MOST: usize = 150 * 1024;

fn files() -> [&'static File; 7] {
    [
        &INDEX,
        &APP,
        &APP_STYLE,
        &CHARTS,
        &CHARTS_STYLE,
        &SIGN,
        &LICENSES,
    ]
}

#[test]
fn the_address_is_one_that_the_server_knows_itself_by() {
    for (listening, expected) in [
        ("127.0.0.1:15132", "https://localhost:15132/"),
        ("[::1]:1", "https://localhost:1/"),
        ("0.0.0.0:15132", "https://gpu-node-17:15132/"),
        ("[::]:15132", "https://gpu-node-17:15132/"),
        ("192.0.2.7:443", "https://192.0.2.7:443/"),
        ("[2001:db8::7]:443", "https://[2001:db8::7]:443/"),
    ] {
        let address = listening.parse().unwrap();
        assert_eq!(page_address(address, "gpu-node-17"), expected);
    }
    let address = "0.0.0.0:1".parse().unwrap();
    assert_eq!(page_address(address, ""), "https://localhost:1/");
}

#[test]
fn the_page_is_small() {
    let size: usize = files().iter().map(|file| file.packed.len()).sum();
    assert!(size <= MOST, "{size} bytes compressed");
}

#[test]
fn nothing_runs_inside_the_document_and_nothing_is_loaded_from_elsewhere() {
    let html = std::str::from_utf8(INDEX.plain).unwrap();
    for forbidden in [
        "<style",
        " style=",
        " onload=",
        " onclick=",
        "javascript:",
        "://",
    ] {
        assert!(!html.contains(forbidden), "{forbidden} in index.html");
    }
    for script in html.match_indices("<script") {
        let tag = html.get(script.0..).and_then(|rest| rest.split('>').next());
        assert!(tag.unwrap().contains(" src=\"page/"), "{tag:?}");
    }
}

#[test]
fn a_browser_that_has_the_file_gets_no_second_copy() {
    let first = APP.show(&HeaderMap::new());
    assert_eq!(first.status(), StatusCode::OK);
    assert_eq!(first.headers().get(CONTENT_ENCODING), None);
    let tag = first.headers().get(ETAG).unwrap().clone();
    let mut again = HeaderMap::new();
    again.insert(IF_NONE_MATCH, tag);
    let second = APP.show(&again);
    assert_eq!(second.status(), StatusCode::NOT_MODIFIED);
    again.insert(IF_NONE_MATCH, HeaderValue::from_static("\"older\""));
    assert_eq!(APP.show(&again).status(), StatusCode::OK);
}

#[test]
fn a_browser_that_takes_gzip_gets_it() {
    for (accepted, expected) in [
        ("gzip, deflate, br", true),
        ("br;q=1.0, gzip;q=0.8", true),
        ("gzip;q=0", false),
        ("identity", false),
    ] {
        let headers = [(ACCEPT_ENCODING, HeaderValue::from_static(accepted))];
        let response = APP.show(&headers.into_iter().collect());
        let zipped = response.headers().contains_key(CONTENT_ENCODING);
        assert_eq!(zipped, expected, "{accepted}");
    }
}

#[test]
fn every_file_says_what_it_is_and_what_it_may() {
    for file in files() {
        let response = file.show(&HeaderMap::new());
        let headers = response.headers();
        let policy = headers
            .get(CONTENT_SECURITY_POLICY)
            .unwrap()
            .to_str()
            .unwrap();
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
    }
}
