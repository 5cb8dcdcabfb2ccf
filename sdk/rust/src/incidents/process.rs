//! Kernel lines that begin with the name of a process, or of a network device in a namespace of a user's own. Any user can
//! choose such a name, so nothing that it says is the kernel's word.
//!
//! | line | source |
//! |---|---|
//! | `‹name›[‹pid›]: segfault at …`, `‹name›[‹pid›]: unhandled exception: …`, `‹name›[‹pid›] bad frame in …` | `show_signal_msg` and its neighbours in `arch/*/mm/fault.c` and `arch/*/kernel` |
//! | `‹name›/‹pid›: potentially unexpected fatal signal ‹n›.` | `kernel/signal.c`, `print_fatal_signal` |
//! | `‹name› invoked oom-killer: …` | `mm/oom_kill.c`, `dump_header` |
//! | `‹name›: attempt to access beyond end of device` | `block/blk-core.c`, `bio_check_eod` |
//! | `‹name›: sending ioctl ‹n› to a partition!` | `block/scsi_ioctl.c` |
//! | `‹name›: page allocation failure: order:‹n›, …,cpuset=‹cgroup›,…`, `‹name›: vmalloc error: size ‹n›, …,cpuset=‹cgroup›,…`, earlier `… page allocation stalls for …`, `… vmalloc size …`, `… vmalloc: allocation failure…` | `mm/page_alloc.c`, `warn_alloc`; a user names the cgroup, too |
//! | `input: ‹device› as ‹path›` | `drivers/input/input.c`; a keyboard calls itself anything, over USB or Bluetooth |
//! | `‹name›(‹pid›): dirtied inode ‹n› (‹file›) on ‹device›`, `… READ block ‹n› on …`, `… WRITE block …` | earlier kernels, where root has set `vm.block_dump` |
//! | `‹name› uses obsolete (PF_INET,SOCK_PACKET)` | `net/socket.c`, `__sock_create`; any user, once in each boot |
//! | `‹device›: renamed from ‹device›` | `net/core/dev.c`; each name has up to 15 bytes, without blanks, colons and slashes |
//! | `‹device›: option ‹name›: invalid value (‹text›)` | `drivers/net/bonding/bond_options.c`, `bond_opt_error_interpret`; a text of any length, which the owner of a network namespace writes into sysfs |
//! | `‹device›: Releasing active interface ‹device›`, `… backup interface …` | `drivers/net/bonding/bond_main.c`, `__bond_release_one`, up to 5.2 |
//!
//! Lines such as `‹name› (‹pid›): …` are left out: lines of drivers look the same, and nothing that a user chooses follows
//! the name there. So a text of which 16 bytes are needed cannot be forged with them.

/// Longest name of a process in bytes: `TASK_COMM_LEN` of the kernel, without its end.
const MAX_NAME: usize = 15;

/// What follows a name in lines without a number.
const MARKS: [&str; 13] = [
    " invoked oom-killer:",
    ": attempt to access beyond end of device",
    ": sending ioctl ",
    ": page allocation failure: order:",
    ": page allocation stalls for ",
    ": vmalloc error: ",
    ": vmalloc size ",
    ": vmalloc: allocation failure",
    ": renamed from ",
    " uses obsolete (PF_INET,SOCK_PACKET)",
    ": option ",
    ": Releasing active interface ",
    ": Releasing backup interface ",
];

/// What follows name and number of a process in lines about its reads and writes.
const BLOCK_DUMPS: [&str; 3] = ["): dirtied inode ", "): READ block ", "): WRITE block "];

/// What stands before the name that a keyboard or a mouse chose, which can look like any text behind a device and a colon.
const BEFORE_INPUT: &str = "input: ";

/// What follows name and number of a process in the kernel's lines about a crash.
const CRASHES: [&str; 2] = [": segfault at ", ": unhandled exception: "];

/// Returns what follows `mark`, if nothing but the name of a process is before it. With several such places in the line,
/// the first one counts.
///
/// For lines that are believed although they begin with a name. A name with a quote, or a colon and a blank, is none here:
/// short lines of other parts of the kernel (`process '‹file›' started …`, `input: ‹device› as …`) have these before a text
/// that a user chooses.
pub fn after_process_name<'a>(line: &'a str, mark: &'a str) -> Option<&'a str> {
    if line.starts_with(BEFORE_INPUT) {
        return None;
    }
    named(line, mark).find_map(|(name, rest)| is_plain(name).then_some(rest))
}

/// Whether a name has nothing in it that other parts of the kernel print before a text that a user chooses.
fn is_plain(name: &str) -> bool {
    !name.contains(['\'', '"']) && !name.contains(": ")
}

/// The places of a mark that can be behind a name: what is before and after it.
fn named<'a>(line: &'a str, mark: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    line.match_indices(mark).filter_map(|(at, mark)| {
        let name = line.get(..at).filter(|name| is_name(name))?;
        Some((name, line.get(at + mark.len()..)?))
    })
}

/// Returns what follows `‹name›[‹pid›]` and then `then` at the beginning of a line. A name with a quote, or a colon and a
/// blank, is none here, as in [`after_process_name`].
pub fn after_process<'a>(line: &'a str, then: &str) -> Option<&'a str> {
    let (name, rest) = numbered(line, '[', &["]", then].concat())?;
    is_plain(name).then_some(rest)
}

/// Whether the kernel wrote a name that a user chooses first, in one of the forms of the table above.
pub fn begins_with_process(line: &str) -> bool {
    numbered(line, '[', "]").is_some()
        || numbered(line, '/', ": potentially unexpected fatal signal ").is_some()
        || BLOCK_DUMPS
            .iter()
            .any(|dump| numbered(line, '(', dump).is_some())
        || MARKS.iter().any(|mark| named(line, mark).next().is_some())
        || line.starts_with(BEFORE_INPUT)
}

/// Whether a line of user space has the number of its sender in it (`‹name›[‹pid›]: ‹text›`), as journald writes lines
/// into the kernel log.
///
/// Any user can have journald do that: a client of its socket for standard output asks for it, and chooses the name, of
/// any length, and the facility. journald adds the number, and the kernel takes no line that is too long for it. Lines
/// about a crash, which root may write to try something out, are none.
pub fn names_its_sender(line: &str) -> bool {
    let is_crash = CRASHES
        .iter()
        .any(|crash| after_process(line, crash).is_some());
    !is_crash
        && line
            .match_indices('[')
            .any(|(at, open)| has_number(line, at + open.len()))
}

/// Whether a number, a bracket, a colon and a blank are at this place.
fn has_number(line: &str, at: usize) -> bool {
    let Some(rest) = line.get(at..) else {
        return false;
    };
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    after.len() < rest.len() && after.starts_with("]: ")
}

/// The name, and what follows `open`, a number and `then`, at the beginning of a line.
fn numbered<'a>(line: &'a str, open: char, then: &str) -> Option<(&'a str, &'a str)> {
    let beginning = line.get(..line.floor_char_boundary(4 * MAX_NAME + 1))?;
    beginning.match_indices(open).find_map(|(at, _)| {
        let rest = line.get(at + open.len_utf8()..)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let rest = rest.get(digits..)?.strip_prefix(then)?;
        let name = line.get(..at)?;
        (digits > 0 && is_name(name)).then_some((name, rest))
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
            "NVRM: x: page allocation failure: order:4, mode:0xcc0(GFP_KERNEL),nodemask=(null),cpuset=x,mems_allowed=0",
            "mlx5_x: vmalloc error: size 4096, failed to allocate pages, mode:0xcc2(GFP_KERNEL),nodemask=(null),cpuset=x",
            "mlx5_x: vmalloc size 4096 allocation failure: mode:0xcc2",
            "mlx5_x: vmalloc: allocation failure: 4096 bytes",
            "x y: page allocation stalls for 10004ms, order:0",
            "Oops: renamed from [#1]",
            "input: now running without any active interface as /devices/virtual/input/input7",
            "nfs_wb_all+0x1/ uses obsolete (PF_INET,SOCK_PACKET)",
            "Oops: option mode: invalid value (x: 0000 [#1] SMP)",
            "mlx5_0: option primary: invalid value (Port module event: module 0, Cable unplugged)",
            "mlx5_x(311): dirtied inode 1 (Port module event: module 0, Cable unplugged) on sda1",
            "nfs_wb_all+0x1/(311): READ block 1 on sda1",
            "Oops: Releasing active interface [#1]",
            "Oops: Releasing backup interface [#1]",
        ] {
            assert!(begins_with_process(line), "{line}");
        }
    }

    #[test]
    fn lines_of_user_space_that_name_their_sender() {
        for line in [
            "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.[4711]: x",
            "mmfs[4711]: [E] x",
            "[1]: x",
            "a [x][12]: b",
            "input: python3[311]: segfault at 0",
        ] {
            assert!(names_its_sender(line), "{line}");
        }
        for line in [
            "",
            "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.",
            "python3[311]: segfault at 0 ip 00007f sp 00007f error 4 in libnccl.so.2[7f+1]",
            "python3[311]: unhandled exception: DABT (lower EL)",
            "traps: x[311] general protection fault ip:7f",
            "nvidia 0000:3b:00.0:    [14] CmpltTO                (First)",
            "a []: b",
            "a [12] : b",
            "a [1é]: b",
            "Oops: 0000 [#1] SMP NOPTI",
        ] {
            assert!(!names_its_sender(line), "{line}");
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
            "mlx5_core 0000:3b:00.0 eth1: renamed from eth0",
            "SLUB: Unable to allocate memory on CPU 0",
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
            ("input: a[311]: segfault at 0", None),
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
            ("input invoked oom-killer: x", Some("x")),
        ] {
            assert_eq!(after_process_name(line, mark), rest, "{line}");
        }
    }
}
