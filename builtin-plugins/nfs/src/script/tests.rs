use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Runs a step as the host does: the script on standard input of a bash with few variables.
fn run(step: Step, folder: &Path, contents: &str) -> Output {
    run_in(folder, step, folder, contents)
}

/// The same for a folder of a volume.
fn run_in(volume: &Path, step: Step, folder: &Path, contents: &str) -> Output {
    let mut child = Command::new("bash")
        .arg("-s")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("LC_ALL", "C")
        .env(VOLUME, volume)
        .env(FOLDER, folder)
        .env(FILE, folder.join("id"))
        .env(CONTENTS, contents)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, step.script().as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

struct TestFolder(PathBuf);

impl TestFolder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("gpud-nfs-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn any_name_and_content_is_taken_as_it_is() {
    let place = TestFolder::new("names");
    let long = "x".repeat(64 * 1024);
    for (index, name) in [
        "plain",
        "a b",
        "$(touch hacked)",
        "`touch hacked`",
        "\"; touch hacked; \"",
        "'quote'",
        "new\nline",
        "-rf",
        "*",
        "é\u{1}",
        "a\\b",
    ]
    .iter()
    .enumerate()
    {
        let folder = place.0.join(name).join("of=x");
        let all = [
            "$(touch hacked)",
            "%s%n\\n",
            "-n",
            "two\nlines\n\n",
            " \t ",
            &long,
        ];
        // Every process costs; all contents once will do.
        let contents = if index == 0 { &all[..] } else { &all[..1] };
        for contents in contents {
            for step in [Step::Create, Step::Touch, Step::Write] {
                let output = run_in(&place.0, step, &folder, contents);
                assert!(output.status.success(), "{name}: {output:?}");
            }
            assert_eq!(
                fs::read(folder.join("id")).unwrap(),
                contents.as_bytes(),
                "{index}"
            );
            let output = run_in(&place.0, Step::Read, &folder, "");
            assert_eq!(output.stdout, contents.as_bytes());
        }
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join("id"))), (0o755, 0o644));
        let remove = || run_in(&place.0, Step::Remove, &folder, "");
        assert!(remove().status.success());
        assert!(!folder.join("id").exists());
        assert!(remove().status.success(), "gone is gone");
    }
    assert!(!place.0.join("hacked").exists() && !Path::new("hacked").exists());
}

#[test]
fn a_shorter_content_leaves_nothing_of_the_longer_one() {
    let place = TestFolder::new("shorter");
    for contents in ["a long content", "short"] {
        assert!(run(Step::Write, &place.0, contents).status.success());
    }
    assert_eq!(run(Step::Read, &place.0, "").stdout, b"short");
}

#[test]
fn a_link_in_the_place_of_the_file_is_not_followed() {
    let place = TestFolder::new("links");
    let victim = place.0.join("victim");
    let file = place.0.join("id");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, &file).unwrap();
    let output = run(Step::Read, &place.0, "");
    assert!(!output.status.success() && output.stdout.is_empty());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("Too many levels of symbolic links"),
        "{stderr}"
    );
    assert!(run(Step::Remove, &place.0, "").status.success());
    assert!(victim.exists() && !file.exists());
    // What is there is replaced: a link, or a second name of a file.
    symlink(&victim, &file).unwrap();
    assert!(run(Step::Write, &place.0, "evil").status.success());
    assert!(fs::symlink_metadata(&file).unwrap().is_file());
    fs::remove_file(&file).unwrap();
    fs::hard_link(&victim, &file).unwrap();
    assert!(run(Step::Write, &place.0, "evil").status.success());
    assert_eq!(fs::read(&file).unwrap(), b"evil");
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}

#[test]
fn a_link_in_the_place_of_a_folder_is_not_followed() {
    let place = TestFolder::new("folder-links");
    let [volume, outside] = ["volume", "outside"].map(|name| place.0.join(name));
    fs::create_dir_all(volume.join("real")).unwrap();
    fs::create_dir_all(outside.join("below")).unwrap();
    symlink(&outside, volume.join("link")).unwrap();
    symlink("../../outside", volume.join("real/relative")).unwrap();
    symlink("..", volume.join("up")).unwrap();
    for folder in [
        "link",
        "link/below",
        "link/new",
        "real/relative",
        "up/outside",
    ] {
        let folder = volume.join(folder);
        fs::write(outside.join("id"), "precious").unwrap();
        fs::write(outside.join("below/id"), "precious").unwrap();
        for step in [Step::Create, Step::Write, Step::Read, Step::Remove] {
            let output = run_in(&volume, step, &folder, "evil");
            assert!(!output.status.success(), "{step:?} {folder:?}");
            assert!(output.stdout.is_empty(), "{step:?} {folder:?}");
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(stderr.contains(" is a link to "), "{stderr}");
        }
        assert_eq!(fs::read(outside.join("id")).unwrap(), b"precious");
        assert_eq!(fs::read(outside.join("below/id")).unwrap(), b"precious");
        assert!(!outside.join("new").exists());
    }
}

#[test]
fn a_volume_may_be_reached_by_a_link_and_a_pipe_does_not_block() {
    let place = TestFolder::new("volume-link");
    let volume = place.0.join("volume");
    fs::create_dir_all(&volume).unwrap();
    let link = place.0.join("by-link");
    symlink(&volume, &link).unwrap();
    let folder = link.join("d");
    for step in [Step::Create, Step::Write] {
        let output = run_in(&link, step, &folder, "x");
        assert!(output.status.success(), "{output:?}");
    }
    let file = volume.join("d/id");
    assert_eq!(fs::read(&file).unwrap(), b"x");
    fs::remove_file(&file).unwrap();
    let made = Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    assert!(run_in(&link, Step::Read, &folder, "").stdout.is_empty());
    assert!(run_in(&link, Step::Write, &folder, "y").status.success());
    assert_eq!(run_in(&link, Step::Read, &folder, "").stdout, b"y");
}

#[test]
fn failures_are_reported() {
    let place = TestFolder::new("failures");
    let missing = place.0.join("missing");
    for step in [Step::Touch, Step::Write, Step::Read] {
        let output = run(step, &missing, "x");
        assert!(!output.status.success(), "{step:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("No such file or directory"), "{stderr}");
    }
    fs::write(&missing, "a file").unwrap();
    assert!(
        !run_in(&place.0, Step::Create, &missing, "x")
            .status
            .success()
    );
}
