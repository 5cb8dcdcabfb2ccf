//! Files of settings and secrets that belong to another user, given to commands of root.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, chown},
    path::Path,
};

use crate::{
    daemon::{Start, eventually, gpud},
    hostile_clients::{ONE, STRANGER, can_be_others},
};

/// How each refusal says it.
const THEIRS: &str = "belongs to user 12345";

/// Writes a file of another user into a folder of root's.
fn theirs(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    chown(&path, Some(STRANGER), None).unwrap();
    path.display().to_string()
}

#[test]
fn root_takes_no_settings_of_checks_from_others() {
    if !can_be_others() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let configs = theirs(home.path(), "components.yaml", "cpu: {}\n");
    let output = gpud()
        .args(["scan", "--components=cpu", "--component-configs-file"])
        .arg(&configs)
        .env("KMSG_FILE_PATH", "/dev/null")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(!output.status.success() && said.contains(THEIRS), "{said}");
}

#[test]
fn root_serves_with_no_token_and_no_key_of_others() {
    if !can_be_others() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let token = theirs(home.path(), "token", "correct-horse-battery-staple\n");
    let certificate = theirs(home.path(), "cert.pem", &made.cert.pem());
    let key = theirs(home.path(), "key.pem", &made.signing_key.serialize_pem());
    for arguments in [
        &["--token-file", token.as_str()][..],
        &[
            "--tls-cert",
            certificate.as_str(),
            "--tls-key",
            key.as_str(),
        ],
    ] {
        let daemon = Start::new().arguments(ONE).arguments(arguments).spawn();
        eventually("it is refused", || {
            let answer = daemon.try_get("/healthz");
            assert!(answer.is_none(), "it runs with {arguments:?}");
            daemon.log().contains(THEIRS).then_some(())
        });
    }
}
