//! Symbolic links, second names, and folders that are swapped.

use super::*;

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
    assert!(message.contains("; remove it"), "{message}");
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
