//! Lines in which a user got the kernel to print a text of his choice: for the tests of checkers that read kernel lines.

/// Lines of several parts of the kernel; `{}` is the text that an unprivileged user chooses: a mount option in a user
/// namespace, the name of a process, of a file, of a volume, of a device.
pub const LINES: [&str; 15] = [
    "tmpfs: Unknown parameter '{}'",
    "tmpfs: Bad value for '{}'",
    "fuse: Unknown parameter '{}'",
    "overlayfs: failed to resolve '{}': -2",
    "audit: type=1400 audit(1.1:2): apparmor=\"DENIED\" operation=\"open\" name=\"{}\" pid=311",
    "traps: x[311] trap invalid opcode ip:7f sp:7f error:0 in {}[7f+1]",
    "x[311]: segfault at 0 ip 00007f sp 00007f error 4 in {}[7f+1]",
    "Out of memory: Killed process 311 ({}) total-vm:1kB, anon-rss:1kB",
    "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task={},pid=311,uid=1000",
    "cgroup: fork rejected by pids controller in /user.slice/{}",
    "process '{}' started with executable stack",
    "BTRFS: device label {} devid 1 transid 7 /dev/loop0 (7:0) scanned by mount (311)",
    "usb 1-1: Product: {}",
    "input: {} as /devices/virtual/input/input7",
    "NVRM: API mismatch: the client 'x' (pid 311)\\x0aNVRM: has the version {}, but this kernel module has the version 1.",
];

/// Longest name of a process, bytes.
const MAX_NAME: usize = 15;

/// What the kernel prints when a program crashes that is called as a line begins, from a file that is called as the rest of
/// the line, or as the whole line.
pub fn crashes(line: &str) -> Vec<String> {
    let crash = |name: &str, file: &str| {
        format!("{name}[311]: segfault at 0 ip 00007f sp 00007f error 4 in {file}[7f+1]")
    };
    (1..=MAX_NAME)
        .filter_map(|length| line.split_at_checked(length))
        .flat_map(|(name, rest)| [crash(name, rest), crash(name, line)])
        .collect()
}

/// Lines about a process with this text as its name: the name is the first thing in them.
pub fn of_processes(line: &str) -> Vec<String> {
    let names = (1..=MAX_NAME).filter_map(|length| line.split_at_checked(length));
    names
        .flat_map(|(name, _)| {
            [
                format!("{name} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0"),
                format!("{name} (311): Using mlock ulimits for SHM_HUGETLB is obsolete"),
                format!("{name}/311: potentially unexpected fatal signal 11."),
                format!("{name} uses obsolete (PF_INET,SOCK_PACKET)"),
            ]
        })
        .collect()
}

/// Lines about memory that a process with this text as its name does not get, in a cgroup whose name is the rest of the
/// text, or all of it.
pub fn of_cgroups(line: &str) -> Vec<String> {
    let failure = |name: &str, cgroup: &str| {
        [
            format!(
                "{name}: page allocation failure: order:4, mode:0xcc0(GFP_KERNEL), nodemask=(null),cpuset={cgroup},mems_allowed=0"
            ),
            format!(
                "{name}: vmalloc error: size 4096, failed to allocate pages, mode:0xcc2(GFP_KERNEL), nodemask=(null),cpuset={cgroup},mems_allowed=0"
            ),
        ]
    };
    (1..=MAX_NAME)
        .filter_map(|length| line.split_at_checked(length))
        .flat_map(|(name, rest)| [failure(name, rest), failure(name, line)])
        .flatten()
        .collect()
}

/// Lines about a network device in a user's own namespace: what is before and in the words of the text are its names, and
/// all of the text is a value that a bond does not take.
pub fn of_network_devices(line: &str) -> Vec<String> {
    let names: Vec<&str> = line
        .split([' ', '\t', ':', '/', '(', ','])
        .filter(|name| (1..=MAX_NAME).contains(&name.len()))
        .collect();
    let Some(first) = names.first() else {
        return Vec::new();
    };
    let renamed = names
        .iter()
        .map(|name| format!("{first}: renamed from {name}"));
    let refused = format!("{first}: option mode: invalid value (x {line}");
    renamed.chain([refused]).collect()
}

/// Lines about a keyboard that calls itself what follows a colon in the text.
pub fn of_keyboards(line: &str) -> Vec<String> {
    let names = line
        .match_indices(": ")
        .filter_map(|(at, colon)| line.get(at + colon.len()..));
    names
        .map(|name| format!("input: {name} as /devices/virtual/input/input7"))
        .collect()
}

/// The line as journald writes it into the kernel log for a user who chose it as a name: the number of the process and a text
/// follow.
pub fn passed_on(line: &str) -> String {
    format!("{line}[4711]: x")
}
