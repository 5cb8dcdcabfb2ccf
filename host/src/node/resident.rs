//! The daemon's own footprint: gives back free memory, and the pages of mapped files that were not written to.
//!
//! Its code, its constants (the embedded checkers among them) and the compiled code of plugins are mapped files. Each time
//! that a page of them is touched, the kernel maps up to fifteen others around it that happen to be in the page cache
//! (`fault_around_bytes`), so that in a minute all of it seems to be in use. What is needed is mapped again when it is next
//! used.

use std::{ffi::c_void, fs, io, ops::Range, os::unix::fs::MetadataExt};

use rustix::mm::{Advice, madvise};

/// Resident pages of mapped files, in bytes (`RssFile` of `/proc/self/status`, proc_pid_status(5)).
///
/// # Errors
/// When it cannot be read.
pub fn of_files() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    Ok(rss_file(&status).ok_or(io::ErrorKind::InvalidData)?)
}

fn rss_file(status: &str) -> Option<u64> {
    let mut lines = status.lines();
    let value = lines.find_map(|line| line.strip_prefix("RssFile:"))?;
    Some(kilobytes(value)?.saturating_mul(1024))
}

fn kilobytes(value: &str) -> Option<u64> {
    value.trim().strip_suffix(" kB")?.parse().ok()
}

/// The mappings whose pages can go: of this program's file, and of code that is mapped from files.
#[derive(Debug)]
pub struct CleanMappings(Vec<Range<usize>>);

impl CleanMappings {
    /// Those of this program and of mapped files at addresses in `code`, where they are as in the file. Looking for them
    /// costs milliseconds.
    ///
    /// # Errors
    /// When `/proc/self` cannot be read.
    pub fn find(code: &[Range<usize>]) -> io::Result<Self> {
        let program = fs::metadata("/proc/self/exe")?.ino();
        let smaps = fs::read_to_string("/proc/self/smaps")?;
        let clean = mappings(&smaps).into_iter().filter(|mapping| {
            (mapping.inode == program || mapping.is_within(code)) && mapping.is_clean()
        });
        let addresses = clean.map(|mapping| {
            let address = |at: u64| usize::try_from(at).map_err(io::Error::other);
            Ok(address(mapping.start)?..address(mapping.end)?)
        });
        Ok(Self(addresses.collect::<io::Result<_>>()?))
    }

    /// Drops their resident pages. The code must have been loaded without a break since it was found. A debugger's
    /// breakpoints are lost.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn release(&self) -> io::Result<()> {
        self.0.iter().try_for_each(release)
    }
}

/// Gives memory that was allocated and freed back to the kernel, as far as the C library can (`malloc_trim(3)`).
pub fn release_free_memory() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "a function of the C library")]
    // SAFETY: it takes the allocator's own locks, and touches only what is not allocated.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// A mapping in `/proc/self/smaps` (proc_pid_smaps(5)).
#[derive(Debug, Default, PartialEq, Eq)]
struct Mapping<'a> {
    start: u64,
    end: u64,
    permissions: &'a str,
    inode: u64,
    /// Kilobytes that are not as in the file; `None` when the kernel did not say.
    changed: Option<u64>,
}

fn mappings(smaps: &str) -> Vec<Mapping<'_>> {
    let mut found: Vec<Mapping<'_>> = Vec::new();
    for line in smaps.lines() {
        if let Some(mapping) = Mapping::parse(line) {
            found.push(mapping);
        } else if let (Some(last), Some(value)) =
            (found.last_mut(), line.strip_prefix("Anonymous:"))
        {
            last.changed = kilobytes(value);
        }
    }
    found
}

impl<'a> Mapping<'a> {
    /// The first line of one.
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
            ..Self::default()
        })
    }

    /// Of a file, and at these addresses.
    fn is_within(&self, ranges: &[Range<usize>]) -> bool {
        let within =
            |range: &Range<usize>| range.start as u64 <= self.start && self.end <= range.end as u64;
        self.inode != 0 && ranges.iter().any(within)
    }

    /// Private, not writable, and no page of it was ever written to: tables that the loader relocated have such pages.
    fn is_clean(&self) -> bool {
        matches!(self.permissions, "r-xp" | "r--p")
            && self.changed == Some(0)
            && self.start < self.end
    }
}

#[expect(unsafe_code, reason = "the kernel is told about raw addresses")]
fn release(clean: &Range<usize>) -> io::Result<()> {
    let address: *mut c_void = std::ptr::with_exposed_provenance_mut(clean.start);
    // SAFETY: the range is one whole mapping that the kernel has listed: of a file, private, not writable, and without a
    // page that differs from the file. It is still there: the program's file stays mapped, and the caller sees to it
    // that its components do. Nothing makes such a mapping writable again: the loader is done with the program, and
    // Wasmtime with a component once its code is executable. A running program's file cannot be written (ETXTBSY), and
    // files of compiled code are only ever replaced by others. So a page that is dropped reads the same when it comes
    // back.
    unsafe { madvise(address, clean.len(), Advice::LinuxDontNeed) }?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
55d0c0a00000-55d0c2000000 r-xp 00a00000 fe:00 4711                       /usr/local/bin/gpud
Size:              22528 kB
Rss:               13784 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
55d0c2000000-55d0c2100000 r--p 02000000 fe:00 4711                       /usr/local/bin/gpud
Rss:                1024 kB
Anonymous:           944 kB
55d0c2100000-55d0c2200000 rw-p 02100000 fe:00 4711                       /usr/local/bin/gpud
Rss:                  64 kB
Anonymous:             0 kB
7f0000000000-7f0000010000 r-xp 00000000 fe:00 9999                       /var/lib/gpud/cache/a.cwasm
Rss:                  32 kB
7ffd00000000-7ffd00010000 r-xp 00000000 00:00 0                          [vdso]
Rss:                   8 kB
Anonymous:             0 kB
";

    #[test]
    fn pages_of_files_are_told_from_others() {
        let status = "VmRSS:\t   36000 kB\nRssAnon:\t   16000 kB\nRssFile:\t   20000 kB\n";
        assert_eq!(rss_file(status), Some(20_480_000));
        assert_eq!(rss_file("RssFile:\t  many kB\n"), None);
        assert!(of_files().unwrap() > 0);
    }

    #[test]
    fn only_what_is_as_in_its_file_is_given_back() {
        let found = mappings(SMAPS);
        let clean: Vec<bool> = found.iter().map(Mapping::is_clean).collect();
        assert_eq!(clean, [true, false, false, false, true]);
        assert_eq!(found.first().unwrap().inode, 4711);
        let code = [0x1000..0x2000, 0x7f00_0000_0000..0x7f00_0002_0000];
        let within: Vec<bool> = found.iter().map(|it| it.is_within(&code)).collect();
        assert_eq!(within, [false, false, false, true, false]);
        for broken in [
            "",
            "x",
            "Rss: 5 kB",
            "1-2 r-xp 0 0:0 x",
            "zz-2 r-xp 0 0:0 1",
        ] {
            assert_eq!(Mapping::parse(broken), None, "{broken}");
        }
        assert!(mappings("Rss: 5 kB\nnonsense").is_empty());
    }

    #[test]
    fn this_program_goes_on() {
        let clean = CleanMappings::find(&[]).unwrap();
        assert!(!clean.0.is_empty());
        let before = of_files().unwrap();
        clean.release().unwrap();
        assert!(of_files().unwrap() < before);
        clean.release().unwrap();
    }
}
