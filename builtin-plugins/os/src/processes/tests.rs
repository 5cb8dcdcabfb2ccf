use super::*;
use gpud_sdk::AccessError;
use proptest::prelude::*;

fn file(pid: u32, content: &str) -> FileContent {
    FileContent {
        path: format!("/proc/{pid}/stat"),
        content: Ok(content.as_bytes().to_vec()),
    }
}

fn stat(pid: u32, name: &str, state: char, start: u64) -> FileContent {
    file(
        pid,
        &format!("{pid} ({name}) {state} 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 0 1 0 {start} 99 0\n"),
    )
}

#[test]
fn states_are_counted() {
    let denied = FileContent {
        path: "/proc/9/stat".into(),
        content: Err(AccessError::Denied("x".into())),
    };
    let files = [
        stat(1, "systemd", 'S', 3),
        stat(2, "nvidia-smi) Z (x", 'D', 77),
        stat(3, "defunct", 'Z', 5),
        stat(4, "D (odd) Z", 'R', 5),
        file(5, ""),
        file(6, "6 (cut) D 1 2"),
        denied,
    ];
    let blocked = vec![Blocked {
        pid: 2,
        start: 77,
        name: "nvidia-smi) Z (x".into(),
    }];
    assert_eq!(
        Processes::parse(&files),
        Processes {
            total: 7,
            zombies: 1,
            blocked
        }
    );
}

proptest! {
    #[test]
    fn any_bytes_are_survived(content: Vec<u8>, tail in r"[0-9() DZ]{0,90}") {
        let content = Ok([content.as_slice(), tail.as_bytes()].concat());
        Processes::parse(&[FileContent { path: "/proc/1/stat".into(), content }]);
    }
}
