use std::{fs, os::unix::fs::PermissionsExt as _};

use super::*;

fn names(environment: &BuildEnvironment) -> Vec<&str> {
    let names = environment.variables.iter();
    names.map(|(name, _)| name.to_str().unwrap()).collect()
}

#[test]
fn only_listed_and_named_variables_are_passed_on() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    let (good, bad) = (place.join("good"), place.join("bad"));
    for (folder, mode) in [(&good, 0o755), (&bad, 0o777)] {
        fs::create_dir(folder).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    }
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    let both = format!("{good}:{bad}");
    let given = [
        ("LANG", "C.UTF-8"),
        ("TERM", "../../tmp/x"),
        ("CARGO_HOME", good),
        ("RUSTUP_HOME", bad),
        ("GOPATH", both.as_str()),
        ("SSL_CERT_FILE", "relative.pem"),
        ("HOME", good),
        ("TMPDIR", "/tmp"),
        ("RUSTC_WRAPPER", "/bin/true"),
        ("GOFLAGS", "-toolexec=/bin/true"),
        ("GOPROXY", "https://proxy.example"),
        ("npm_config_script_shell", "/bin/true"),
        ("PIP_INDEX_URL", "https://index.example"),
        ("https_proxy", "http://proxy.example"),
        ("CC", "/bin/true"),
        ("LD_PRELOAD", "/lib/x.so"),
        ("SUDO_UID", "1000"),
        ("PATH", "/usr/bin"),
    ];
    let given = || {
        given
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
    };
    let selected = select(given(), &[], Opener::of_daemon());
    assert_eq!(names(&selected), ["LANG", "CARGO_HOME", "HOME", "TMPDIR"]);
    assert_eq!(
        selected.left_out,
        [
            "CC",
            "GOFLAGS",
            "GOPATH",
            "GOPROXY",
            "PIP_INDEX_URL",
            "RUSTC_WRAPPER",
            "RUSTUP_HOME",
            "SSL_CERT_FILE",
            "TERM",
            "https_proxy",
            "npm_config_script_shell",
        ]
    );
    let named = ["GOPROXY".to_owned(), "CC".to_owned(), "ABSENT".to_owned()];
    let selected = select(given(), &named, Opener::of_daemon());
    assert_eq!(
        names(&selected),
        ["LANG", "CARGO_HOME", "HOME", "TMPDIR", "GOPROXY", "CC"]
    );
}
