use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, lchown, symlink},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::*;

mod inherited;
mod links;
mod places;
mod programs;

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
fn a_pipe_is_refused_and_not_waited_for() {
    let place = TestFolder::new();
    let pipe = place.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
    assert!(answer(&pipe).contains("not a regular file"));
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
