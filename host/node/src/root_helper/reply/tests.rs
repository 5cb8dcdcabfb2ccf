use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn an_output_is_read_as_it_was_written(
        exit_code in any::<Option<i32>>(), signal in any::<Option<i32>>(), flags in any::<[bool; 3]>(), ms in any::<u32>(),
        stdout in any::<Vec<u8>>(), stderr in any::<Vec<u8>>(),
    ) {
        let [core_dumped, stdout_truncated, stderr_truncated] = flags;
        let output = Output {
            exit_code, signal, core_dumped, stdout, stderr, stdout_truncated, stderr_truncated,
            duration: Duration::from_millis(ms.into()),
        };
        let reply = Reply::Ended(output);
        prop_assert_eq!(Reply::parse(&reply.to_bytes()), Some(reply));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>()) {
        let _ = Reply::parse(&bytes);
    }
}

#[test]
fn failures_keep_their_kind() {
    for error in [
        SourceError::Denied("/dev/kmsg".into()),
        SourceError::NotFound("smartctl".into()),
        SourceError::TimedOut {
            what: "smartctl".into(),
            after: Duration::from_secs(3),
            last_good: None,
        },
        SourceError::Other("the disk is odd".into()),
    ] {
        let reply = Reply::Failed(error);
        let bytes = reply.to_bytes();
        assert_eq!(Reply::parse(&bytes), Some(reply));
        assert_eq!(Reply::parse(&bytes[..bytes.len() - 1]), None);
    }
    let lost = Reply::Failed(SourceError::SourceLost("x".into()));
    let expected = Reply::Failed(SourceError::Other("x: lost".into()));
    assert_eq!(Reply::parse(&lost.to_bytes()), Some(expected));
    assert_eq!(Reply::parse(b""), None);
}
