//! The calls that are barred, with their numbers for each kind of program that a processor runs.
//!
//! Numbers are those of Linux's `unistd_64.h` and `unistd_32.h` (x86) and of `asm-generic/unistd.h` (64-bit Arm). The table in
//! `docs/least-privilege.md` says what each group is for.

/// A kind of program: the numbers of system calls differ between 64 and 32 bits, and between processors.
#[derive(Debug)]
pub struct Family {
    /// The kernel's `AUDIT_ARCH_…` of its calls.
    pub architecture: u32,
    /// Numbers from this one on are another kind of call, which is refused: x32 on x86-64.
    pub end: u32,
    /// Which number of a row is its own.
    column: usize,
}

impl Family {
    /// Returns the number of a call; `None` where programs of this kind have no such call.
    fn number(&self, row: &Row) -> Option<u32> {
        row.1.get(self.column).copied().flatten()
    }

    /// Returns the numbers of the calls that are refused as not permitted.
    pub fn barred(&self) -> impl Iterator<Item = u32> {
        BARRED.iter().filter_map(|row| self.number(row))
    }

    /// Returns the numbers of the calls whose first argument may ask for a user namespace.
    pub fn with_namespaces(&self) -> impl Iterator<Item = u32> {
        NAMESPACES.iter().filter_map(|row| self.number(row))
    }
}

const X86_64: Family = Family {
    architecture: 0xC000_003E,
    end: 0x4000_0000,
    column: 0,
};
const I386: Family = Family {
    architecture: 0x4000_0003,
    end: u32::MAX,
    column: 1,
};
const AARCH64: Family = Family {
    architecture: 0xC000_00B7,
    end: u32::MAX,
    column: 2,
};

/// The kinds of programs that a processor runs, by Rust's name of it; empty for one without a table. Arm processors of GPU
/// machines run no 32-bit programs.
pub fn families(processor: &str) -> &'static [Family] {
    match processor {
        "x86_64" => &[X86_64, I386],
        "aarch64" => &[AARCH64],
        _ => &[],
    }
}

/// clone3, which has the same number everywhere. A filter cannot see its arguments, so it is refused as unknown; C libraries
/// use clone then.
pub const CLONE3: u32 = 435;

/// Name of a call, and its numbers on x86-64, in 32-bit programs on x86, and on 64-bit Arm.
type Row = (&'static str, [Option<u32>; 3]);

const fn each(name: &'static str, x86_64: u32, i386: u32, aarch64: u32) -> Row {
    (name, [Some(x86_64), Some(i386), Some(aarch64)])
}

/// Calls since Linux 5.1 have one number everywhere.
const fn same(name: &'static str, number: u32) -> Row {
    each(name, number, number, number)
}

/// Calls that are refused unless they ask for no user namespace.
const NAMESPACES: &[Row] = &[each("clone", 56, 120, 220), each("unshare", 272, 310, 97)];

/// Calls that are refused.
const BARRED: &[Row] = &[
    each("init_module", 175, 128, 105),
    each("finit_module", 313, 350, 273),
    each("delete_module", 176, 129, 106),
    each("kexec_load", 246, 283, 104),
    ("kexec_file_load", [Some(320), None, Some(294)]),
    each("reboot", 169, 88, 142),
    each("bpf", 321, 357, 280),
    each("perf_event_open", 298, 336, 241),
    each("userfaultfd", 323, 374, 282),
    same("io_uring_setup", 425),
    same("io_uring_enter", 426),
    same("io_uring_register", 427),
    each("ptrace", 101, 26, 117),
    each("add_key", 248, 286, 217),
    each("request_key", 249, 287, 218),
    each("keyctl", 250, 288, 219),
    each("mount", 165, 21, 40),
    ("umount", [None, Some(22), None]),
    each("umount2", 166, 52, 39),
    each("pivot_root", 155, 217, 41),
    each("setns", 308, 346, 268),
    each("open_by_handle_at", 304, 342, 265),
    same("open_tree", 428),
    same("move_mount", 429),
    same("fsopen", 430),
    same("fsconfig", 431),
    same("fsmount", 432),
    same("fspick", 433),
    same("mount_setattr", 442),
    same("open_tree_attr", 467),
    ("modify_ldt", [Some(154), Some(123), None]),
    ("vm86", [None, Some(166), None]),
    ("vm86old", [None, Some(113), None]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_number_is_there_twice() {
        for family in [X86_64, I386, AARCH64] {
            let all: Vec<u32> = family
                .barred()
                .chain(family.with_namespaces())
                .chain([CLONE3])
                .collect();
            let distinct: BTreeSet<u32> = all.iter().copied().collect();
            assert_eq!(all.len(), distinct.len(), "{family:?}");
            assert!(all.iter().all(|number| *number < family.end), "{family:?}");
        }
    }

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn the_numbers_are_those_of_the_c_library() {
        let family = &families(std::env::consts::ARCH)[0];
        let number = |name: &str| {
            let mut rows = BARRED.iter().chain(NAMESPACES);
            rows.find(|row| row.0 == name)
                .and_then(|row| family.number(row))
        };
        for (name, expected) in [
            ("init_module", libc::SYS_init_module),
            ("finit_module", libc::SYS_finit_module),
            ("delete_module", libc::SYS_delete_module),
            ("kexec_load", libc::SYS_kexec_load),
            ("reboot", libc::SYS_reboot),
            ("bpf", libc::SYS_bpf),
            ("perf_event_open", libc::SYS_perf_event_open),
            ("userfaultfd", libc::SYS_userfaultfd),
            ("io_uring_setup", libc::SYS_io_uring_setup),
            ("ptrace", libc::SYS_ptrace),
            ("add_key", libc::SYS_add_key),
            ("request_key", libc::SYS_request_key),
            ("keyctl", libc::SYS_keyctl),
            ("mount", libc::SYS_mount),
            ("umount2", libc::SYS_umount2),
            ("pivot_root", libc::SYS_pivot_root),
            ("setns", libc::SYS_setns),
            ("open_by_handle_at", libc::SYS_open_by_handle_at),
            ("fsopen", libc::SYS_fsopen),
            ("clone", libc::SYS_clone),
            ("unshare", libc::SYS_unshare),
        ] {
            assert_eq!(number(name).map(i64::from), Some(expected), "{name}");
        }
        assert_eq!(i64::from(CLONE3), libc::SYS_clone3);
    }

    #[test]
    fn every_call_is_in_the_documentation() {
        let page = include_str!("../../../../docs/least-privilege.md");
        for (name, _) in BARRED.iter().chain(NAMESPACES) {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
