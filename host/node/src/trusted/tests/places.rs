//! Files and folders that gpud makes or closes itself: its data folder, log files, sockets.

use std::io::Write as _;

use super::*;

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
    mode(&file, 0o644);
    // A file from elsewhere, which its other name tells, is not made to look like one of gpud's own.
    let elsewhere = place.file("elsewhere");
    mode(&elsewhere, 0o644);
    fs::hard_link(&elsewhere, path.join("second")).unwrap();
    mode(&place.file("a/own/renewed"), 0o604);
    let entries = close_entries(&own, |_| None, |name| name == "renewed").unwrap();
    let expected = ClosedEntries {
        closed: vec!["file".to_owned()],
        removed: vec!["renewed".to_owned()],
        set_aside: None,
    };
    assert_eq!(entries, expected);
    assert!(!path.join("renewed").exists());
    assert_eq!((bits(&file), bits(&elsewhere)), (0o600, 0o644));
    own.open_file("file").unwrap();
    assert!(own.open_file("second").unwrap_err().is_refusal());
    let link = place.path("to-own");
    symlink(&path, &link).unwrap();
    assert_eq!(OwnFolder::open(&link).unwrap().path(), path);
    assert!(OwnFolder::open_unlinked(&link).unwrap_err().is_refusal());
    assert!(!OwnFolder::open(&file).unwrap_err().is_refusal());
    if give(&path, OTHER) {
        assert!(OwnFolder::open(&path).unwrap_err().is_refusal());
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_folder_that_others_could_write_to_is_emptied() {
    let place = TestFolder::new();
    let path = place.path("own");
    for open in [0o777, 0o770, 0o1700, 0o1777] {
        OwnFolder::open(&path).unwrap();
        for name in ["closed", "open", "folder/file"] {
            place.file(&format!("own/{name}"));
        }
        fs::hard_link(place.file("elsewhere"), path.join("second")).unwrap();
        symlink("/", path.join("link")).unwrap();
        mode(&path.join("open"), 0o666);
        mode(&path, open);
        let own = OwnFolder::open(&path).unwrap();
        let moved = own.set_aside().unwrap();
        let expected = ["closed", "folder", "link", "open", "second"];
        assert_eq!(names(&moved.folder), expected);
        assert_eq!((moved.count, moved.names.len()), (5, 5));
        assert_eq!(path.join(&names(&path)[0]), moved.folder);
        let bits = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
        assert_eq!((bits(&path), bits(&moved.folder)), (0o700, 0o700));
        assert_eq!(OwnFolder::open(&path).unwrap().set_aside(), None);
        fs::remove_dir_all(&path).unwrap();
    }
    // More than are listed at once, and than are named.
    fs::create_dir(&path).unwrap();
    for number in 0..2500 {
        fs::write(path.join(number.to_string()), "").unwrap();
    }
    mode(&path, 0o777);
    let own = OwnFolder::open(&path).unwrap();
    let moved = own.set_aside().unwrap();
    assert_eq!((moved.count, moved.names.len()), (2500, 16));
    assert_eq!(names(&path).len(), 1);
    fs::remove_dir_all(&path).unwrap();
    // Nothing to move.
    fs::create_dir(&path).unwrap();
    mode(&path, 0o777);
    assert_eq!(OwnFolder::open(&path).unwrap().set_aside(), None);
    assert_eq!(names(&path), Vec::<String>::new());
}

#[test]
fn entries_that_others_could_change_are_set_aside_with_their_group() {
    let place = TestFolder::new();
    let path = place.path("own");
    let own = OwnFolder::open(&path).unwrap();
    let group = |name: &str| match name {
        "else" => None,
        name if name.starts_with("set-aside-") => None,
        name if name.starts_with("db") => Some("db".to_owned()),
        name => Some(name.to_owned()),
    };
    for name in [
        "db",
        "db-wal",
        "else",
        "good/a/file",
        "cache/a/file",
        "token",
    ] {
        place.file(&format!("own/{name}"));
    }
    symlink("/", path.join("link")).unwrap();
    for (open, bits) in [("db-wal", 0o620), ("else", 0o666), ("cache/a/file", 0o602)] {
        mode(&path.join(open), bits);
    }
    let moved = close_entries(&own, group, |_| false)
        .unwrap()
        .set_aside
        .unwrap();
    assert_eq!(names(&moved.folder), ["cache", "db", "db-wal"]);
    let folder = moved.folder.file_name().unwrap().to_str().unwrap();
    assert_eq!(names(&path), ["else", "good", "link", folder, "token"]);
    let bits = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(bits(&path.join("else")), 0o600);
    assert_eq!(
        close_entries(&own, group, |_| false).unwrap().set_aside,
        None
    );
    mode(&path.join("good/a"), 0o707);
    assert!(
        close_entries(&own, group, |_| false)
            .unwrap()
            .set_aside
            .is_some()
    );
    if give(&path.join("token"), OTHER) {
        let moved = close_entries(&own, group, |_| false)
            .unwrap()
            .set_aside
            .unwrap();
        assert_eq!(moved.names, ["token"]);
    }
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
