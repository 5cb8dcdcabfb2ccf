//! Programs, their interpreters, and the folders of `PATH`.

use super::*;

#[test]
fn a_program_is_judged_with_its_way() {
    let place = TestFolder::new();
    let tool = place.file("bin/tool");
    mode(&tool, 0o755);
    program(&tool).unwrap();
    mode(&place.path("bin"), 0o777);
    let message = program(&tool).unwrap_err().to_string();
    assert!(message.contains("chmod go-w"), "{message}");
    mode(&place.path("bin"), 0o755);
    mode(&tool, 0o777);
    assert!(program(&tool).unwrap_err().is_refusal());
    assert!(program(&place.path("bin")).is_err());
    assert!(program(&place.path("bin/none")).unwrap_err().is_not_found());
}

#[test]
fn folders_that_others_can_change_are_no_place_for_programs_and_scripts() {
    let place = TestFolder::new();
    place.file("good/tool");
    place.file("bad/tool");
    let (good, bad) = (place.path("good"), place.path("bad"));
    mode(&bad, 0o777);
    let opener = Opener::of_daemon();
    assert!(environment::is_good(&good, opener));
    assert!(!environment::is_good(&bad, opener));
    mode(&bad, 0o1777);
    assert!(environment::is_good(&bad, opener));
    let path = format!("{}:relative:{}:/nowhere", bad.display(), good.display());
    let wanted = match rustix::process::geteuid().is_root() {
        // What is missing could be made by others later.
        true => good.display().to_string(),
        false => path.clone(),
    };
    assert_eq!(search_path(path.as_ref()), *wanted);
}

#[test]
fn a_script_is_judged_with_its_interpreter() {
    let place = TestFolder::new();
    let interpreter = place.file("bin/interpreter");
    let script = place.file("bin/script");
    let shebang = |line: String| fs::write(&script, format!("#!{line}\nexit")).unwrap();
    shebang(format!("{} -e", interpreter.display()));
    program(&script).unwrap();
    mode(&interpreter, 0o777);
    let message = program(&script).unwrap_err().to_string();
    assert!(
        message.contains("bin/interpreter can be changed"),
        "{message}"
    );
    // By way of env.
    shebang(format!("/usr/bin/env -S {}", interpreter.display()));
    assert!(program(&script).unwrap_err().is_refusal());
    mode(&interpreter, 0o755);
    program(&script).unwrap();
    shebang("/usr/bin/env sh".to_owned());
    program(&script).unwrap();
    // Options and variables of env decide as well, and options of others.
    let open = place.file("open/interpreter");
    let folder = open.parent().unwrap().display().to_string();
    for arguments in [
        format!("-S PATH={folder} interpreter"),
        format!("-iS PATH=/usr/bin:{folder} interpreter"),
        format!("--split-string=PATH={folder} interpreter"),
        format!("-S -C {folder} ./interpreter"),
        format!("-S --chdir={folder} ./interpreter"),
        format!("-S LD_PRELOAD={folder}/later.so sh"),
        format!("-S PATH={folder}/later/bin sh"),
        // The working folder is `/`.
        format!("-S PATH={} interpreter", &folder[1..]),
        format!("-S -iC{} ./interpreter", &folder[1..]),
        format!("-S -C / {}/interpreter", &folder[1..]),
        format!("-S -C {} open/interpreter", place.path("").display()),
        format!("-S bash -e{}/interpreter", &folder[1..]),
    ] {
        shebang(format!("/usr/bin/env {arguments}"));
        mode(Path::new(&folder), 0o755);
        program(&script).unwrap();
        mode(Path::new(&folder), 0o777);
        assert!(program(&script).unwrap_err().is_refusal(), "{arguments}");
    }
    for line in ["/usr/bin/nice", "/bin/bash", "/usr/bin/awk -f"] {
        shebang(format!("{line} {folder}/interpreter"));
        mode(Path::new(&folder), 0o755);
        program(&script).unwrap();
        mode(Path::new(&folder), 0o777);
        assert!(program(&script).unwrap_err().is_refusal(), "{line}");
    }
    shebang("/usr/bin/env -S PATH=${HOME}x sh".to_owned());
    let message = program(&script).unwrap_err().to_string();
    assert!(message.contains("cannot be checked"), "{message}");
    shebang("/usr/bin/env -S LOG=/dev/null MODE=1 sh".to_owned());
    program(&script).unwrap();
    // An interpreter that is a script itself.
    fs::write(&interpreter, format!("#!{}\n", script.display())).unwrap();
    shebang(interpreter.display().to_string());
    let error = program(&script).unwrap_err();
    assert!(!error.is_refusal() && !error.is_not_found(), "{error}");
    shebang("/nowhere/interpreter".to_owned());
    assert!(program(&script).unwrap_err().is_not_found());
}

/// Below a sticky folder anybody can make it later.
#[test]
fn a_folder_of_path_that_is_missing_is_left_out_for_root() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let place = TestFolder::new();
    let folders = [place.path("later"), PathBuf::from("/usr/bin")];
    let path = std::env::join_paths(&folders).unwrap();
    assert_eq!(search_path(&path), "/usr/bin");
}

/// Whatever a link to an open file leads to, nobody has looked at it.
#[test]
fn a_program_behind_a_link_to_an_open_file_is_refused() {
    let place = TestFolder::new();
    let file = fs::File::open(place.file("tool")).unwrap();
    let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    assert!(program(Path::new(&link)).is_err());
}
