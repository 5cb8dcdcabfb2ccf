use std::os::unix::fs::{PermissionsExt as _, lchown};

use super::*;

/// A user whom no list of users has.
const OTHER: u32 = 12_345;

#[test]
fn the_message_says_what_others_can_change_and_what_to_do() {
    let refusal = |wrong| Refusal {
        asked: "/home/a/p".into(),
        part: "/home/a/p/build.rs".into(),
        kind: "file",
        wrong,
        us: 0,
    };
    let of_home = Refusal {
        part: "/home/a".into(),
        kind: "folder",
        ..refusal(TrustProblem::Owner(OTHER))
    };
    let error = TrustError::Refused(Box::new(of_home));
    assert_eq!(
        refused(Path::new("/home/a/p"), error, false).to_string(),
        "root builds nothing in /home/a/p: folder /home/a belongs to user 12345; use a copy in a folder of root; or build as that \
             user: `sudo -u '#12345' gpud plugin build /home/a/p`"
    );
    let message = |wrong, is_found_above| {
        let error = TrustError::Refused(Box::new(refusal(wrong)));
        refused(Path::new("/home/a/p"), error, is_found_above).to_string()
    };
    assert_eq!(
        message(TrustProblem::Owner(OTHER), false),
        "root builds nothing in /home/a/p: file /home/a/p/build.rs belongs to user 12345; check its content, then `chown root \
             /home/a/p/build.rs`; or build as that user: `sudo -u '#12345' gpud plugin build /home/a/p`"
    );
    assert_eq!(
        message(TrustProblem::Mode(0o666), false),
        "root builds nothing in /home/a/p: file /home/a/p/build.rs can be changed by others than its owner (mode 0666); check its \
             content, then `chmod go-w /home/a/p/build.rs`; or build as another user"
    );
    assert!(message(TrustProblem::Owner(OTHER), true).ends_with(
            "belongs to user 12345, and build tools look for it in all folders above a project; remove it, or build a copy of \
             the project in a folder that only root can change, such as /root"
        ));
}

#[test]
fn a_sticky_folder_above_is_good_as_long_as_nobody_puts_settings_there() {
    let place = tempfile::tempdir().unwrap();
    let shared = place.path().canonicalize().unwrap();
    let project = shared.join("project");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("Cargo.toml"), "").unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    let check = || check(&project, Opener::of_daemon(), 100);
    check().unwrap();
    let few = super::check(&project, Opener::of_daemon(), 0).unwrap_err();
    assert!(few.to_string().contains("more than 0 files"), "{few}");
    if lchown(project.join("Cargo.toml"), Some(OTHER), None).is_err() {
        eprintln!("skipped: only root can give files away");
        return;
    }
    let error = check().unwrap_err().to_string();
    assert!(error.contains("Cargo.toml belongs to user"), "{error}");
    lchown(project.join("Cargo.toml"), Some(0), None).unwrap();
    fs::write(shared.join("rust-toolchain.toml"), "").unwrap();
    check().unwrap();
    lchown(shared.join("rust-toolchain.toml"), Some(OTHER), None).unwrap();
    let error = check().unwrap_err().to_string();
    assert!(error.contains("build tools look for it"), "{error}");
    lchown(&project, Some(OTHER), None).unwrap();
    let error = check().unwrap_err().to_string();
    assert!(
        error.contains("folder") && error.contains("sudo -u"),
        "{error}"
    );
}
