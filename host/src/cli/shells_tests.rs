use std::fs;

use super::*;

#[test]
fn scripts_know_what_is_visible_and_nothing_else() {
    for name in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = String::from_utf8(completion(shell(&[name.to_owned()]).unwrap())).unwrap();
        for word in ["set-healthy", "fail-on", "completion", "listen-address"] {
            assert!(script.contains(word), "{name}: {word}");
        }
        for word in [
            "compile-component",
            "validate-config",
            "root-helper",
            "compile-builtins",
            "gpu-uuids-with",
            "machine-id-overwrite",
        ] {
            assert!(!script.contains(word), "{name}: {word}");
        }
    }
    for names in [&[][..], &["tcsh"], &["bash", "zsh"]] {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert!(shell(&names).unwrap_err().contains("bash, zsh, fish"));
    }
}

#[test]
fn pages_of_all_commands() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("man1");
    let paths = pages(&folder).unwrap();
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    for name in [
        "gpud.1",
        "gpud-run.1",
        "gpud-custom-plugins.1",
        "gpud-release-gen-key.1",
    ] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    assert!(
        !names.iter().any(|name| name.contains("compile")),
        "{names:?}"
    );
    assert_eq!(page(&[]).unwrap(), fs::read(folder.join("gpud.1")).unwrap());
    assert!(page(&["nope".to_owned()]).is_err());
}

/// Root writes pages into a folder of another user, for example.
#[test]
fn a_page_replaces_a_link_and_does_not_write_through_it() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other");
    fs::write(&other, "other").unwrap();
    let man = folder.path().join("man1");
    fs::create_dir(&man).unwrap();
    std::os::unix::fs::symlink(&other, man.join("gpud.1")).unwrap();
    pages(&man).unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "other");
    assert_eq!(page(&[]).unwrap(), fs::read(man.join("gpud.1")).unwrap());
}

#[test]
fn a_page() {
    let page = page(&["status".to_owned()]).unwrap();
    insta::assert_snapshot!(String::from_utf8(page).unwrap());
}

/// The help of every command, as one who types it into a pipe sees it: what changes here changes for operators.
#[test]
fn help_of_every_command() {
    fn all(command: &mut Command, text: &mut String) {
        let help = command.render_help().to_string();
        let name = command.get_bin_name().unwrap_or("gpud");
        text.push_str(&format!("==== {name}\n{help}\n"));
        for below in command.get_subcommands_mut() {
            if !below.is_hide_set() {
                all(below, text);
            }
        }
    }
    let mut root = commands::root().term_width(100);
    root.build();
    let mut text = String::new();
    all(&mut root, &mut text);
    insta::assert_snapshot!(text);
}
