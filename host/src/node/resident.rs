//! The daemon's own footprint: gives back the pages of gpud's code that only the start needed.

use std::{ffi::c_void, fs, io, os::unix::fs::MetadataExt};

use rustix::mm::{Advice, madvise};

/// Drops the resident pages of this program's own code. What is still needed is mapped again from the page cache when it
/// is next run, some pages around it with it; what only ran at the start (migrations, the command line, loading) is not.
/// Gives the size of that code in bytes. A debugger's breakpoints are lost.
///
/// # Errors
/// When `/proc/self/maps` cannot be read or the kernel refuses.
pub fn release_own_code() -> io::Result<u64> {
    let inode = fs::metadata("/proc/self/exe")?.ino();
    let maps = fs::read_to_string("/proc/self/maps")?;
    let mut bytes = 0;
    for mapping in maps.lines().filter_map(Mapping::parse) {
        if mapping.is_code_of(inode) {
            release(&mapping)?;
            bytes += mapping.end - mapping.start;
        }
    }
    Ok(bytes)
}

/// A line of `/proc/self/maps` (proc_pid_maps(5)).
#[derive(Debug, PartialEq, Eq)]
struct Mapping<'a> {
    start: u64,
    end: u64,
    permissions: &'a str,
    inode: u64,
}

impl<'a> Mapping<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let permissions = words.next()?;
        let _offset = words.next()?;
        let _device = words.next()?;
        Some(Self {
            start: u64::from_str_radix(start, 16).ok()?,
            end: u64::from_str_radix(end, 16).ok()?,
            permissions,
            inode: words.next()?.parse().ok()?,
        })
    }

    /// Code that nobody can have written to: not the data, and not the relocated tables, whose pages the file does not have.
    fn is_code_of(&self, inode: u64) -> bool {
        self.inode == inode && self.permissions == "r-xp" && self.start < self.end
    }
}

#[expect(unsafe_code, reason = "the kernel is told about raw addresses")]
fn release(code: &Mapping<'_>) -> io::Result<()> {
    let start = usize::try_from(code.start).map_err(io::Error::other)?;
    let end = usize::try_from(code.end).map_err(io::Error::other)?;
    let address: *mut c_void = std::ptr::with_exposed_provenance_mut(start);
    // SAFETY: the range is one whole mapping that the kernel has just listed, of this program's file, executable and not
    // writable. The linker puts nothing that is relocated there, so its private pages equal the file's, and the kernel
    // does not let a running program's file be written (ETXTBSY). A page that is dropped reads the same when it comes back.
    unsafe { madvise(address, end - start, Advice::LinuxDontNeed) }?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_this_program_is_given_back() {
        let code = "55d0c0a00000-55d0c2000000 r-xp 00a00000 fe:00 4711                       /usr/local/bin/gpud";
        assert!(Mapping::parse(code).unwrap().is_code_of(4711));
        for other in [
            "55d0c2000000-55d0c2100000 r--p 02000000 fe:00 4711   /usr/local/bin/gpud",
            "55d0c2100000-55d0c2200000 rw-p 02100000 fe:00 4711   /usr/local/bin/gpud",
            "7f0000000000-7f0000010000 r-xp 00000000 fe:00 9999   /var/lib/gpud/cache/a.cwasm",
            "7ffd0000-7ffe0000 r-xp 00000000 00:00 0              [vdso]",
        ] {
            assert!(!Mapping::parse(other).unwrap().is_code_of(4711), "{other}");
        }
        for broken in ["", "x", "1-2", "1-2 r-xp 0 0:0 x", "zz-2 r-xp 0 0:0 1"] {
            assert_eq!(Mapping::parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn this_program_goes_on() {
        assert!(release_own_code().unwrap() > 0);
        assert!(release_own_code().unwrap() > 0);
    }
}
