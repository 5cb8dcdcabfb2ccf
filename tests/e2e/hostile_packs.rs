//! Packs that are older, or signed otherwise, than they should be, and registries that point elsewhere.

use std::{
    fs::{self, Permissions},
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    os::unix::fs::PermissionsExt as _,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    hostile_clients::can_be_others,
    packs::{GRANTS, Site, strs},
};

/// The end of each answer that a registry gives here.
const NO_BODY: &str = "Content-Length: 0\r\nConnection: close\r\n\r\n";

/// Somebody who can change the archive puts other plugins under the signature of a vendor whose key is trusted.
#[test]
fn allow_unsigned_takes_no_signature_of_another_pack() {
    let site = Site::new();
    let vendors = site.build("1.0.0", "acme-memory", GRANTS);
    let signature = Command::new("tar")
        .args(["xOf", &vendors, "SHA256SUMS.minisig"])
        .output()
        .unwrap();
    assert!(signature.status.success(), "{signature:?}");
    fs::write(site.path("signature"), signature.stdout).unwrap();
    let changed = site.build("2.0.0", "acme-memory", GRANTS);
    site.ok(&["sign", &changed, "--signature", &site.text("signature")]);
    let refusal = site.refused(&strs(
        &site.install(&changed, &["--approve", "--allow-unsigned"]),
    ));
    assert!(refusal.contains("its signature is bad"), "{refusal}");
    assert!(!site.path("data/packs/acme.yaml").exists());
}

/// A signature of the vendor stays good when a fault was found in what it signs.
#[test]
fn an_older_version_is_installed_only_when_asked() {
    let site = Site::new();
    let older = site.build("1.0.0", "acme-memory", GRANTS);
    let newer = site.build("2.0.0", "acme-memory", GRANTS);
    site.ok(&strs(&site.install(&newer, &["--approve"])));
    let refusal = site.refused(&strs(&site.install(&older, &["--approve"])));
    assert!(refusal.contains("--allow-downgrade"), "{refusal}");
    site.ok(&strs(
        &site.install(&older, &["--approve", "--allow-downgrade"]),
    ));
}

#[test]
fn a_build_without_a_key_replaces_a_signed_archive_only_when_asked() {
    let site = Site::new();
    let archive = site.build("1.0.0", "acme-memory", GRANTS);
    let before = fs::read(&archive).unwrap();
    let sources = site.text("sources");
    let build = ["build", &sources, "-o", &archive];
    let refusal = site.refused(&build);
    assert!(refusal.contains("--replace"), "{refusal}");
    assert_eq!(fs::read(&archive).unwrap(), before);
    site.ok(&[&build[..], &["--replace"]].concat());
}

/// Every user can put a key of their own there.
#[test]
fn keys_in_a_folder_of_all_verify_nothing() {
    if !can_be_others() {
        return;
    }
    let site = Site::new();
    let archive = site.build("1.0.0", "acme-memory", GRANTS);
    let keys = site.path("keys");
    for mode in [0o777, 0o1777] {
        fs::set_permissions(&keys, Permissions::from_mode(mode)).unwrap();
        let refusal = site.refused(&strs(&site.install(&archive, &["--approve"])));
        assert!(refusal.contains("chmod go-w"), "{mode:o}: {refusal}");
    }
    assert!(!site.path("data/packs/acme.yaml").exists());
}

/// Answers every request with this text, and counts the requests.
fn answer_all(listener: TcpListener, answer: String) -> Arc<AtomicUsize> {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut request) = (stream.unwrap(), [0; 8192]);
            if stream.read(&mut request).unwrap_or_default() > 0 {
                count.fetch_add(1, Ordering::Relaxed);
                let _ = stream.write_all(answer.as_bytes());
            }
        }
    });
    asked
}

/// Pulls from a registry that gives this answer, made with the address of another host, which must never be asked.
fn pull_from(answer: impl FnOnce(SocketAddr) -> String) {
    let listen = || TcpListener::bind("127.0.0.1:0").unwrap();
    let (registry, inside) = (listen(), listen());
    let port = registry.local_addr().unwrap().port();
    let answer = answer(inside.local_addr().unwrap());
    let asked = answer_all(registry, format!("{answer}{NO_BODY}"));
    let asked_inside = answer_all(inside, format!("HTTP/1.1 404 Not Found\r\n{NO_BODY}"));
    let site = Site::new();
    let (output, password) = (site.text("pulled.tar"), site.text("password"));
    fs::write(&password, "correct-horse-battery-staple").unwrap();
    let refusal = site.refused(&[
        "pull",
        &format!("127.0.0.1:{port}/acme/sensors:1.0.0"),
        "-o",
        &output,
        "--plain-http",
        "--username=ada",
        "--password-file",
        &password,
    ]);
    assert!(asked.load(Ordering::Relaxed) > 0, "{refusal}");
    assert_eq!(asked_inside.load(Ordering::Relaxed), 0, "{refusal}");
    assert!(refusal.contains("--allow-redirects"), "{refusal}");
}

/// What answers inside of the operator's network can be another host than the registry.
#[test]
fn a_registry_leads_to_no_other_host() {
    pull_from(|inside| {
        format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{inside}/v2/\r\n")
    });
}

#[test]
fn a_registry_has_no_password_sent_to_another_host() {
    pull_from(|inside| {
        let realm = format!("Bearer realm=\"http://{inside}/token\",service=\"acme\"");
        format!("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: {realm}\r\n")
    });
}
