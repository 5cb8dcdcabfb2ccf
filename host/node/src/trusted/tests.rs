use std::{
    fs::{self, Permissions},
    io::Write as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, lchown, symlink},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::*;
use crate::variables;

/// A user of the machine who is neither root nor gpud's own.
const OTHER: u32 = 12345;

struct TestFolder(tempfile::TempDir);

impl TestFolder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// A file with its folders.
    fn file(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "content").unwrap();
        path
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// False, with a line that says so, where files cannot be given away.
fn give(path: &Path, user: u32) -> bool {
    let given = lchown(path, Some(user), None).is_ok();
    if !given {
        eprintln!("skipped: only root can give files away");
    }
    given
}

fn answer(path: &Path) -> String {
    match read(path, 100) {
        Ok(content) => format!("read {}", String::from_utf8_lossy(&content)),
        Err(error) => error.to_string(),
    }
}

fn is_read(path: &Path) -> bool {
    answer(path) == "read content"
}

fn refusal(path: &Path) -> Refusal {
    match read(path, 100) {
        Err(TrustError::Refused(refusal)) => *refusal,
        other => panic!("{}: {other:?}", path.display()),
    }
}

#[test]
fn a_file_of_our_own_is_read_and_answers_of_the_system_are_those_of_any_reader() {
    let place = TestFolder::new();
    let file = place.file("a/b/file");
    assert!(is_read(&file));
    let winding = place.path("a/../a/./b//file");
    assert!(is_read(&winding));
    for (path, words) in [
        (place.path("none"), "no such file or directory"),
        (place.path("a/none/file"), "no such file or directory"),
        (place.path("a"), "is a directory"),
        (file.join("below"), "not a directory"),
        (PathBuf::from("/dev/null"), "not a regular file"),
    ] {
        let message = answer(&path);
        assert_eq!(message, format!("open {}: {words}", path.display()));
    }
    let large = read(&file, 3).unwrap_err();
    assert!(!large.is_refusal() && !large.is_not_found());
    assert_eq!(io::Error::from(large).kind(), io::ErrorKind::FileTooLarge);
    assert!(read(&place.path("none"), 1).unwrap_err().is_not_found());
}

#[test]
fn a_path_may_start_from_the_working_folder() {
    let here = std::env::current_dir().unwrap();
    let depth = here.components().count() - 1;
    let place = TestFolder::new();
    let file = place.file("file");
    let up: PathBuf = std::iter::repeat_n("..", depth).collect();
    // Whether every folder on the way is good is the machine's affair.
    if Opener::of_daemon()
        .check_program(&here.join("x"))
        .is_err_and(|error| error.is_refusal())
    {
        return;
    }
    assert!(is_read(&up.join(file.strip_prefix("/").unwrap())));
}

#[test]
fn a_file_that_others_can_write_is_refused_with_what_to_do() {
    let place = TestFolder::new();
    let file = place.file("file");
    for bad in [0o666, 0o660, 0o602] {
        mode(&file, bad);
        let refusal = refusal(&file);
        assert_eq!(
            (refusal.part.as_path(), refusal.kind),
            (file.as_path(), "file")
        );
        assert_eq!(refusal.wrong, TrustProblem::Mode(bad));
    }
    let message = answer(&file);
    let file = file.display();
    assert_eq!(
        message,
        format!(
            "{file} is not trusted: file {file} can be changed by others than its owner (mode 0602); check its content, then \
             `chmod go-w {file}`"
        )
    );
}

#[test]
fn a_folder_on_the_way_that_others_can_write_is_refused_unless_it_is_sticky() {
    let place = TestFolder::new();
    let file = place.file("a/b/file");
    for bad in [0o777, 0o775, 0o757] {
        mode(&place.path("a"), bad);
        let refusal = refusal(&file);
        assert_eq!((refusal.part, refusal.kind), (place.path("a"), "folder"));
    }
    mode(&place.path("a"), 0o1777);
    assert!(is_read(&file));
    // The temporary folder itself is such a one.
    if !give(&place.path("a/b"), OTHER) {
        return;
    }
    let message = answer(&file);
    assert!(
        message.contains("a/b belongs to user 12345") && message.contains("`chown root "),
        "{message}"
    );
}

#[test]
fn what_belongs_to_another_user_is_refused_wherever_it_is() {
    let place = TestFolder::new();
    let file = place.file("a/b/file");
    for part in ["a", "a/b", "a/b/file"] {
        let part = place.path(part);
        if !give(&part, OTHER) {
            return;
        }
        let refused = refusal(&file);
        assert_eq!(
            (&refused.part, refused.wrong),
            (&part, TrustProblem::Owner(OTHER))
        );
        give(&part, 0);
    }
    assert!(is_read(&file));
}

#[test]
fn a_daemon_of_another_user_trusts_itself_and_root() {
    let place = TestFolder::new();
    let file = place.file("a/file");
    if !give(&file, OTHER) {
        return;
    }
    chown(place.path("a"), Some(OTHER), None).unwrap();
    let theirs = Opener::of_user(OTHER);
    // The temporary folder is root's, which both trust.
    assert_eq!(theirs.read(&file, 100).unwrap(), b"content");
    assert!(Opener::of_user(OTHER + 1).read(&file, 100).is_err());
    give(&file, 0);
    theirs.read(&file, 100).unwrap();
    give(&file, OTHER + 1);
    let message = theirs.read(&file, 100).unwrap_err().to_string();
    assert!(message.contains("`chown 12345 "), "{message}");
}

#[test]
fn links_are_followed_by_their_owner_and_to_an_end() {
    let place = TestFolder::new();
    let file = place.file("a/file");
    let (relative, absolute) = (place.path("relative"), place.path("absolute"));
    symlink("a/../a/file", &relative).unwrap();
    symlink(place.path("folder/file"), &absolute).unwrap();
    symlink(place.path("a"), place.path("folder")).unwrap();
    assert!(is_read(&relative) && is_read(&absolute));
    symlink("loop", place.path("loop")).unwrap();
    assert_eq!(refusal(&place.path("loop")).wrong, TrustProblem::Link);
    symlink("gone", place.path("dangling")).unwrap();
    assert!(read(&place.path("dangling"), 1).unwrap_err().is_not_found());
    // What a link leads to is judged as well.
    mode(&file, 0o666);
    assert_eq!(refusal(&absolute).part, file);
    mode(&file, 0o644);
    if !give(&place.path("folder"), OTHER) {
        return;
    }
    let refused = refusal(&absolute);
    assert_eq!(
        (refused.kind, refused.wrong),
        ("link", TrustProblem::Owner(OTHER))
    );
    let message = answer(&absolute);
    assert!(message.contains("`chown -h root "), "{message}");
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let place = TestFolder::new();
    let pipe = place.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
    assert!(answer(&pipe).contains("not a regular file"));
}

/// Another user's folder and a good one change places all the time. The good file may be read, or an error said; never the
/// other one's content.
#[test]
fn swapping_a_folder_gets_nothing_read() {
    let place = TestFolder::new();
    let file = place.file("way/file");
    let evil = place.file("evil/file");
    fs::write(&evil, "evil").unwrap();
    if !give(&evil, OTHER) {
        return;
    }
    give(&place.path("evil"), OTHER);
    let link = place.path("link");
    symlink("evil", &link).unwrap();
    give(&link, OTHER);
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn({
        let (stop, way, evil) = (Arc::clone(&stop), place.path("way"), place.path("evil"));
        move || {
            let exchange = |one: &Path, other: &Path| {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                let cwd = rustix::fs::CWD;
                rustix::fs::renameat_with(cwd, one, cwd, other, flags).unwrap();
            };
            while !stop.load(Ordering::Relaxed) {
                exchange(&way, &evil);
                exchange(&way, &evil);
                exchange(&way, &link);
                exchange(&way, &link);
            }
        }
    });
    let mut answers = [0, 0];
    for _ in 0..20_000 {
        match read(&file, 100) {
            Ok(content) => {
                assert_eq!(content, b"content");
                answers[0] += 1;
            }
            Err(_) => answers[1] += 1,
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    eprintln!("read {} times, refused {} times", answers[0], answers[1]);
}

#[test]
fn a_listed_folder_takes_no_entries_of_others() {
    let place = TestFolder::new();
    place.file("keys/one");
    let keys = place.path("keys");
    let opener = Opener::of_daemon();
    opener.check_folder(&keys).unwrap();
    for bad in [0o777, 0o1777, 0o770] {
        mode(&keys, bad);
        assert!(
            opener.check_folder(&keys).unwrap_err().is_refusal(),
            "{bad:o}"
        );
    }
    assert!(
        opener
            .check_folder(&place.path("none"))
            .unwrap_err()
            .is_not_found()
    );
    assert!(opener.check_folder(&place.path("keys/one")).is_err());
}

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
fn a_log_file_is_made_private_and_taken_from_nobody() {
    let place = TestFolder::new();
    let log = place.path("a/b/log");
    append(&log).unwrap().write_all(b"one\n").unwrap();
    append(&log).unwrap().write_all(b"two\n").unwrap();
    assert_eq!(fs::read_to_string(&log).unwrap(), "one\ntwo\n");
    let bits = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(bits(&log), 0o600);
    mode(&log, 0o666);
    append(&log).unwrap();
    assert_eq!(bits(&log), 0o640);
    // As Ubuntu's /var/log.
    mode(&place.path("a"), 0o775);
    append(&log).unwrap();
    mode(&place.path("a"), 0o777);
    assert!(append(&log).unwrap_err().is_refusal());
    mode(&place.path("a"), 0o755);
    fs::hard_link(&log, place.path("second")).unwrap();
    let message = append(&log).unwrap_err().to_string();
    assert!(message.contains("more than one name"), "{message}");
    append(Path::new("/dev/null"))
        .unwrap()
        .write_all(b"x")
        .unwrap();
    let link = place.path("link");
    let target = place.path("target");
    symlink(&target, &link).unwrap();
    append(&link).unwrap();
    if !give(&link, OTHER) {
        return;
    }
    assert!(append(&link).unwrap_err().is_refusal());
    give(&target, OTHER);
    assert!(append(&target).unwrap_err().is_refusal());
}

#[test]
fn a_log_can_go_to_an_open_file_by_its_number() {
    let place = TestFolder::new();
    let target = place.file("target");
    let open = File::options().append(true).open(&target).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&open);
    let path = PathBuf::from(format!("/proc/self/fd/{number}"));
    append(&path).unwrap().write_all(b" and more").unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "content and more");
}

#[test]
fn a_folder_of_our_own_is_closed_and_its_files_are_ours() {
    let place = TestFolder::new();
    let path = place.path("a/own");
    let own = OwnFolder::open(&path).unwrap();
    let bits = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((bits(&path), own.was_open()), (0o700, None));
    mode(&path, 0o755);
    let own = OwnFolder::open_unlinked(&path).unwrap();
    assert_eq!((bits(&path), own.was_open()), (0o700, Some(0o755)));
    let file = place.file("a/own/file");
    assert_eq!(own.read("file", 100).unwrap(), b"content");
    symlink(&file, path.join("link")).unwrap();
    assert!(own.read("link", 100).is_err());
    mode(&file, 0o666);
    assert!(own.open_file("file").unwrap_err().is_refusal());
    assert_eq!(close_files(&own, |_| true).unwrap(), ["file"]);
    own.open_file("file").unwrap();
    let link = place.path("to-own");
    symlink(&path, &link).unwrap();
    assert_eq!(OwnFolder::open(&link).unwrap().path(), path);
    assert!(OwnFolder::open_unlinked(&link).unwrap_err().is_refusal());
    assert!(!OwnFolder::open(&file).unwrap_err().is_refusal());
    if give(&path, OTHER) {
        assert!(OwnFolder::open(&path).unwrap_err().is_refusal());
    }
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
fn the_last_name_of_a_socket_is_no_link() {
    let place = TestFolder::new();
    let socket = place.path("real");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    symlink("real", place.path("link")).unwrap();
    symlink(place.path(""), place.path("way")).unwrap();
    open_socket(&socket).unwrap();
    open_socket(&place.path("way/real")).unwrap();
    let refused = open_socket(&place.path("link")).unwrap_err();
    assert!(refused.is_refusal(), "{refused}");
    let file = open_socket(&place.file("file")).unwrap_err().to_string();
    assert!(file.contains("not a socket"), "{file}");
}

#[test]
fn folders_of_others_may_lead_to_a_socket_and_their_links_may_not() {
    let place = TestFolder::new();
    let theirs = place.path("theirs");
    fs::create_dir(&theirs).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(theirs.join("socket")).unwrap();
    let own = place.path("own");
    fs::create_dir(&own).unwrap();
    let _other = std::os::unix::net::UnixListener::bind(own.join("socket")).unwrap();
    symlink(&own, theirs.join("linked")).unwrap();
    if !give(&theirs, OTHER) {
        return;
    }
    open_socket(&theirs.join("socket")).unwrap();
    let refused = open_socket(&theirs.join("linked/socket")).unwrap_err();
    assert!(refused.to_string().contains("12345"), "{refused}");
}

/// An access control list shows in the permissions of the group; where a group may write, it counts who that is.
#[test]
fn a_list_that_lets_others_write_is_refused_on_the_file_and_on_the_way() {
    use rustix::fs::{XattrFlags, setxattr};
    let place = TestFolder::new();
    let file = place.file("way/file");
    let set = |path: &Path, write: u16| {
        let list = acl::tests::posix(&[
            (0x01, 7, u32::MAX),
            (0x02, write, OTHER),
            (0x04, 5, u32::MAX),
            (0x10, 7, u32::MAX),
            (0x20, 5, u32::MAX),
        ]);
        let name = "system.posix_acl_access";
        setxattr(path, name, &list, XattrFlags::empty()).is_ok()
    };
    for part in [file.clone(), place.path("way")] {
        if !set(&part, 7) {
            eprintln!("skipped: no access control lists here");
            return;
        }
        assert_eq!(refusal(&file).part, part);
        assert!(program(&file).unwrap_err().is_refusal());
        // As the message says.
        let mode_of = fs::metadata(&part).unwrap().mode();
        mode(&part, mode_of & 0o777 & !0o022);
        assert!(is_read(&file));
    }
    // Log files may be in a folder that a group writes to, but not in one that a list opens to others.
    let log = place.path("way/log");
    mode(&place.path("way"), 0o775);
    assert!(set(&place.path("way"), 5));
    append(&log).unwrap();
    assert!(set(&place.path("way"), 7));
    let message = append(&log).unwrap_err().to_string();
    assert!(message.contains("access control list"), "{message}");
}

/// Anybody can give a file of root's a second name in a folder such as `/tmp`, and so choose what a path leads to.
#[test]
fn a_second_name_in_a_folder_of_all_is_refused() {
    let place = TestFolder::new();
    let file = place.file("own/file");
    let shared = place.path("shared");
    fs::create_dir(&shared).unwrap();
    mode(&shared, 0o1777);
    let named = shared.join("file");
    fs::write(&named, "content").unwrap();
    assert!(is_read(&named));
    fs::remove_file(&named).unwrap();
    fs::hard_link(&file, &named).unwrap();
    assert_eq!(refusal(&named).wrong, TrustProblem::HardLinks);
    assert!(is_read(&file), "where nobody else can make names");
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
    // An interpreter that is a script itself.
    fs::write(&interpreter, format!("#!{}\n", script.display())).unwrap();
    shebang(interpreter.display().to_string());
    let error = program(&script).unwrap_err();
    assert!(!error.is_refusal() && !error.is_not_found(), "{error}");
    shebang("/nowhere/interpreter".to_owned());
    assert!(program(&script).unwrap_err().is_not_found());
}

#[test]
fn scripts_of_root_inherit_no_variable_by_which_others_run_code() {
    let place = TestFolder::new();
    let good = place.file("good/file");
    let bad = place.file("bad/file");
    mode(&place.path("bad"), 0o777);
    let opener = Opener::of_daemon();
    let (folder, open) = (place.path("good"), place.path("bad"));
    let (folder, open) = (folder.display(), open.display());
    let change = |name: &str, value: String| {
        let changed = environment::change(name.as_ref(), value.as_ref(), opener);
        changed.map(|value| value.map(|value| value.into_string().unwrap()))
    };
    for (name, value) in [
        ("PYTHONPATH", good.display().to_string()),
        ("PYTHONPATH", String::new()),
        ("PYTHONUNBUFFERED", "1".to_owned()),
        ("CURL_CA_BUNDLE", good.display().to_string()),
        ("LD_LIBRARY_PATH", format!("{folder}:/usr/lib")),
        // One that is missing, as drivers' images have it.
        ("LD_LIBRARY_PATH", "/usr/no-such-folder/lib64".to_owned()),
        ("HOME", folder.to_string()),
        ("TMPDIR", "/tmp".to_owned()),
        ("NODE_NAME", "gpu-1".to_owned()),
        ("PATH", format!("{open}")),
        ("ACME", format!("{folder}:/usr/no-such-file,-I{folder} a=b")),
        ("ACME", "https://host/path?x=/dev/null".to_owned()),
        ("TMP", "/tmp".to_owned()),
        ("NCCL_NET_PLUGIN", "ofi".to_owned()),
        ("NCCL_DEBUG", "INFO".to_owned()),
        ("CUDA_INJECTION64_PATH", good.display().to_string()),
        ("SLURM_CONF", good.display().to_string()),
        ("DOCKER_HOST", format!("unix://{folder}/socket")),
        ("CONTAINERD_ADDRESS", format!("{folder}/socket")),
        (
            "DBUS_SYSTEM_BUS_ADDRESS",
            format!("unix:path={folder}/bus,guid=1"),
        ),
    ] {
        assert_eq!(change(name, value.clone()), None, "{name}={value}");
    }
    for (name, value) in [
        ("PYTHONPATH", bad.display().to_string()),
        ("PYTHONPATH", format!("/nonexistent/..{folder}")),
        ("BASH_ENV", good.display().to_string()),
        ("BASH_ENV", "/$(id)".to_owned()),
        ("ENV", "relative".to_owned()),
        ("GIT_CONFIG_COUNT", "1".to_owned()),
        ("PYTHONWARNINGS", "all:0:antigravity.x:0:0".to_owned()),
        ("BROWSER", "/bin/true".to_owned()),
        ("CURL_HOME", folder.to_string()),
        ("SSLKEYLOGFILE", "/root/x".to_owned()),
        ("KUBECONFIG", bad.display().to_string()),
        ("LD_PRELOAD", format!("{open}/x.so {open}/y.so")),
        ("LD_LIBRARY_PATH", format!("{open}/later")),
        ("TMPDIR", format!("{open}/later")),
        ("PYTHONPATH", "/tmp".to_owned()),
        ("PS4", "$(id)".to_owned()),
        ("BASH_FUNC_ls%%", "() { id; }".to_owned()),
        ("NODE_OPTIONS", "--require x".to_owned()),
        ("ACME", format!("{open}")),
        ("ACME", format!("a,file://{open}/later")),
        ("ACME", format!("file://localhost{open}/later")),
        ("ACME", format!("--plugin=\"{open}/x\"")),
        ("ACME", format!("-I{open}")),
        ("ACME", format!("/usr/../{open}")),
        ("ACME", format!("{folder}:").repeat(257)),
        ("TMP", format!("{open}")),
        ("NCCL_NET_PLUGIN", format!("{open}/libnccl-net.so")),
        ("NCCL_NET_PLUGIN", "./libnccl-net.so".to_owned()),
        ("CUDA_INJECTION64_PATH", "relative.so".to_owned()),
        ("DOCKER_HOST", "tcp://127.0.0.1:2375".to_owned()),
        ("DOCKER_HOST", format!("unix://{open}/socket")),
        ("DBUS_SYSTEM_BUS_ADDRESS", "unix:abstract=x".to_owned()),
        (
            "DBUS_SYSTEM_BUS_ADDRESS",
            format!("unix:path={folder}/bus;tcp:host=h"),
        ),
    ] {
        assert_eq!(change(name, value.clone()), Some(None), "{name}={value}");
    }
    let home = change("HOME", format!("/nonexistent/..{folder}"));
    assert_eq!(home, Some(Some("/".to_owned())));
    let mixed = change("LD_LIBRARY_PATH", format!("{open}:{folder}:"));
    assert_eq!(mixed, Some(Some(folder.to_string())));
    assert_eq!(change("HOME", open.to_string()), Some(Some("/".to_owned())));
}

/// A guest's grant and a script of root are judged by one table: see `runtime/src/capability/environment.rs`.
#[test]
fn each_variable_of_the_table_is_judged() {
    let place = TestFolder::new();
    place.file("bad/file");
    mode(&place.path("bad"), 0o777);
    let value = place.path("bad/file");
    let opener = Opener::of_daemon();
    let change = |name: &str| environment::change(name.as_ref(), value.as_os_str(), opener);
    for names in [
        variables::CODE,
        variables::PATHS,
        variables::LIBRARIES,
        variables::ADDRESSES,
    ] {
        for &name in names {
            assert!(variables::decides_what_runs(name), "{name}");
            let wanted = match name {
                "HOME" => Some(Some(std::ffi::OsString::from("/"))),
                _ => Some(None),
            };
            assert_eq!(change(name), wanted, "{name}");
        }
    }
    for beginning in variables::CODE_BEGINNINGS {
        let name = format!("{beginning}X");
        assert!(variables::decides_what_runs(&name), "{name}");
        assert_eq!(change(&name), Some(None), "{name}");
    }
}

#[test]
fn variables_that_are_left_out_are_named_in_one_line() {
    let names: Vec<String> = (0..42).map(|number| format!("N{number}")).collect();
    let line = environment::left_out(&names);
    assert!(
        line.contains("N0, N1, ") && line.ends_with("N39 and 2 more"),
        "{line}"
    );
    assert!(!line.contains('\n'));
}

#[test]
fn what_gpud_makes_is_made_where_nobody_else_can_change_it() {
    let place = TestFolder::new();
    let folder = place.path("a/b");
    let bits = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    make_folder(&folder, 0o755).unwrap();
    assert_eq!(bits(&folder), 0o755);
    make_folder(&folder, 0o700).unwrap();
    assert_eq!(bits(&folder), 0o755, "one that is there stays as it is");
    let file = folder.join("file");
    make_file(&file, b"content").unwrap();
    assert_eq!((bits(&file), open_mode(&file)), (0o600, None));
    mode(&file, 0o640);
    assert_eq!(open_mode(&file), Some(0o640));
    let again = io::Error::from(make_file(&file, b"other").unwrap_err());
    assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    let link = folder.join("link");
    symlink(place.path("elsewhere"), &link).unwrap();
    assert!(make_file(&link, b"x").unwrap_err().is_refusal());
    mode(&folder, 0o777);
    assert!(
        make_file(&folder.join("new"), b"x")
            .unwrap_err()
            .is_refusal()
    );
    assert!(
        make_folder(&folder.join("new"), 0o700)
            .unwrap_err()
            .is_refusal()
    );
    assert!(!folder.join("new").exists());
    assert!(make_folder(&file, 0o700).is_err());
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
