//! Kernel lines that begin with the name of a process. Any user can choose that name, so nothing that it says is the
//! kernel's word.
//!
//! | line | source |
//! |---|---|
//! | `‹name›[‹pid›]: segfault at …`, `‹name›[‹pid›]: unhandled exception: …`, `‹name›[‹pid›] bad frame in …` | `show_signal_msg` and its neighbours in `arch/*/mm/fault.c` and `arch/*/kernel` |
//! | `‹name›/‹pid›: potentially unexpected fatal signal ‹n›.` | `kernel/signal.c`, `print_fatal_signal` |
//! | `‹name› invoked oom-killer: …` | `mm/oom_kill.c`, `dump_header` |
//! | `‹name›: attempt to access beyond end of device` | `block/blk-core.c`, `bio_check_eod` |
//! | `‹name›: sending ioctl ‹n› to a partition!` | `block/scsi_ioctl.c` |
//!
//! Lines such as `‹name› (‹pid›): …` are left out: lines of drivers look the same, and nothing that a user chooses follows
//! the name there. So a text of which 16 bytes are needed cannot be forged with them.

/// Longest name of a process in bytes: `TASK_COMM_LEN` of the kernel, without its end.
const MAX_NAME: usize = 15;

/// What follows a name in lines without a number.
const MARKS: [&str; 3] = [
    " invoked oom-killer:",
    ": attempt to access beyond end of device",
    ": sending ioctl ",
];

/// Returns what follows `mark`, if nothing but the name of a process is before it. With several such places in the line,
/// the first one counts.
///
/// For lines that are believed although they begin with a name. A name with a quote, or a colon and a blank, is none here:
/// short lines of other parts of the kernel (`process '‹file›' started …`, `input: ‹device› as …`) have these before a text
/// that a user chooses.
pub fn after_process_name<'a>(line: &'a str, mark: &'a str) -> Option<&'a str> {
    let is_plain = |name: &str| !name.contains(['\'', '"']) && !name.contains(": ");
    named(line, mark).find_map(|(name, rest)| is_plain(name).then_some(rest))
}

/// The places of a mark that can be behind a name: what is before and after it.
fn named<'a>(line: &'a str, mark: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    line.match_indices(mark).filter_map(|(at, mark)| {
        let name = line.get(..at).filter(|name| is_name(name))?;
        Some((name, line.get(at + mark.len()..)?))
    })
}

/// Returns what follows `‹name›[‹pid›]` and then `then` at the beginning of a line.
pub fn after_process<'a>(line: &'a str, then: &str) -> Option<&'a str> {
    numbered(line, '[', &["]", then].concat())
}

/// Whether the kernel wrote the name of a process first, in one of the forms of the table above.
pub fn begins_with_process(line: &str) -> bool {
    after_process(line, "").is_some()
        || numbered(line, '/', ": potentially unexpected fatal signal ").is_some()
        || MARKS.iter().any(|mark| named(line, mark).next().is_some())
}

/// What follows name, `open`, a number and `then` at the beginning of a line.
fn numbered<'a>(line: &'a str, open: char, then: &str) -> Option<&'a str> {
    let beginning = line.get(..line.floor_char_boundary(4 * MAX_NAME + 1))?;
    beginning.match_indices(open).find_map(|(at, _)| {
        let rest = line.get(at + open.len_utf8()..)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let rest = rest.get(digits..)?.strip_prefix(then)?;
        (digits > 0 && is_name(line.get(..at)?)).then_some(rest)
    })
}

/// Whether a text of the log can be a name: the kernel's escape `\xNN` counts as the byte that it stands for.
fn is_name(text: &str) -> bool {
    let mut bytes = 0;
    let mut rest = text.as_bytes();
    while let Some((_, after)) = rest.split_first() {
        rest = match rest {
            [b'\\', b'x', high, low, after @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                after
            }
            _ => after,
        };
        bytes += 1;
    }
    (1..=MAX_NAME).contains(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_begin_with_a_process() {
        for line in [
            "NVRM: Xid (0): [311]: segfault at 0 ip 00007f sp 00007f error 4 in x[7f+1]",
            "a[311]: segfault at 0 ip 00007f sp 00007f error 4 in NVRM: x[7f+1]",
            "Oops [#1][311]: segfault at 0 ip 00007f",
            "a[b]c[1][311]: unhandled exception: DABT (lower EL)",
            "python3[311] bad frame in rt_sigreturn frame:7f ip:7f",
            "NVRM: x/311: potentially unexpected fatal signal 11.",
            "a b c invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL)",
            "fio: attempt to access beyond end of device",
            "NVRM: \\xff\\xfe\\xff\\xfe\\xff\\xfe\\xff\\xfe\\xff[311]: segfault at 0",
            "éééééé[311]: segfault at 0",
        ] {
            assert!(begins_with_process(line), "{line}");
        }
    }

    #[test]
    fn lines_that_do_not() {
        for line in [
            "",
            "[311]: segfault at 0",
            "sixteen bytes of[311]: segfault at 0",
            "tmpfs: Unknown parameter 'a[311]: segfault at 0'",
            "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=a[1], x",
            "NVRM: Xid (0000:3b:00): 79, pid=1, x",
            "nvidia 0000:3b:00.0:    [14] CmpltTO                (First)",
            "sd 0:0:0:0: [sda] tag#1 FAILED Result: hostbyte=DID_OK",
            "EXT4-fs (dm-1): Remounting filesystem read-only",
            "md/raid1:md0: Disk failure on sdb1, disabling device.",
            "Oops: 0000 [#1] SMP NOPTI",
            "beegfs: x(311): NodeConn: Connected: storage@10.0.0.9",
            "amdgpu: MES(1) failed to respond to msg=RESET",
            "mce: CPU0: Core temperature above threshold",
            "{1}[Hardware Error]: event severity: fatal",
            "amdgpu 0000:c1:00.0: amdgpu: GPU reset(2) succeeded!",
            "INFO: task x:1 blocked for more than 120 seconds.",
        ] {
            assert!(!begins_with_process(line), "{line}");
        }
    }

    #[test]
    fn what_follows_a_name() {
        for (line, rest) in [
            ("a b[311]: segfault at 0", Some("0")),
            ("[1][311]: segfault at 0", Some("0")),
            ("a: segfault at 0", None),
            ("sixteen bytes of[311]: segfault at 0", None),
        ] {
            assert_eq!(after_process(line, ": segfault at "), rest, "{line}");
        }
        let mark = " invoked oom-killer: ";
        for (line, rest) in [
            ("a b invoked oom-killer: x", Some("x")),
            (" invoked oom-killer: x", None),
            ("sixteen bytes of invoked oom-killer: x", None),
            ("tmpfs: Unknown parameter 'a invoked oom-killer: x", None),
            ("process 'a invoked oom-killer: x", None),
            ("input: a invoked oom-killer: x", None),
        ] {
            assert_eq!(after_process_name(line, mark), rest, "{line}");
        }
    }
}
