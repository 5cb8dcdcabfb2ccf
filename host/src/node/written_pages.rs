//! Pages of this process's own memory: which of them were written to.

use std::{
    fs::{self, File},
    io,
    ops::Range,
    os::unix::fs::FileExt as _,
};

use rustix::{param::page_size, thread::disable_transparent_huge_pages};

/// Bytes of an entry of `/proc/self/pagemap`.
const ENTRY: usize = 8;
/// Bits of an entry (pagemap.rst of the kernel's documentation): in memory, swapped out, of a file or shared, and mapped
/// here only.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const SHARED: u64 = 1 << 61;
const EXCLUSIVE: u64 = 1 << 56;

/// Where private, writable mappings of files begin that are so many bytes long, and whose names `named` takes.
///
/// # Errors
/// When `/proc/self` cannot be read.
pub fn copies(length: u64, named: impl Fn(&str) -> bool) -> io::Result<Vec<u64>> {
    Ok(copies_in(
        &fs::read_to_string("/proc/self/maps")?,
        length,
        named,
    ))
}

fn copies_in(maps: &str, length: u64, named: impl Fn(&str) -> bool) -> Vec<u64> {
    let start = |line: &str| {
        let mut words = line.splitn(6, ' ');
        let (start, end) = words.next()?.split_once('-')?;
        let start = u64::from_str_radix(start, 16).ok()?;
        let end = u64::from_str_radix(end, 16).ok()?;
        let private = words.next()? == "rw-p";
        let name = words.nth(3)?.trim_start();
        (private && end.checked_sub(start)? == length && named(name)).then_some(start)
    };
    maps.lines().filter_map(start).collect()
}

/// Whether each page of these addresses was written to since it was mapped: it is no longer the file's page, nor the one
/// page of zeros that stands for all that nobody wrote to.
///
/// # Errors
/// When `/proc/self` cannot be read.
pub fn written(addresses: Range<u64>) -> io::Result<Vec<bool>> {
    let page = page_size() as u64;
    let pages = addresses.end.saturating_sub(addresses.start) / page;
    let length = usize::try_from(pages).map_err(io::Error::other)? * ENTRY;
    let mut entries = vec![0; length];
    let from = addresses.start / page * ENTRY as u64;
    File::open("/proc/self/pagemap")?.read_exact_at(&mut entries, from)?;
    let entries = entries.as_chunks().0.iter();
    Ok(entries
        .map(|entry| is_own(u64::from_ne_bytes(*entry)))
        .collect())
}

fn is_own(entry: u64) -> bool {
    let has = |bit: u64| entry & bit != 0;
    !has(SHARED) && (has(SWAPPED) || has(PRESENT) && has(EXCLUSIVE))
}

/// Bytes of a page of this machine.
pub fn page_bytes() -> usize {
    page_size()
}

/// From now on no page of this process stands for hundreds of which one was written to.
pub fn without_huge_pages() {
    // A kernel that has none does not know the question.
    let _ = disable_transparent_huge_pages(true);
}

#[cfg(test)]
mod tests {
    use std::{hint::black_box, ptr};

    use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

    use super::*;

    #[test]
    fn only_copies_of_that_length_and_name_count() {
        let maps = "\
7f0000000000-7f0000003000 rw-p 00000000 00:01 1                          /memfd:wasm-memory-image (deleted)
7f0000100000-7f0000103000 r--p 00000000 00:01 1                          /memfd:wasm-memory-image (deleted)
7f0000200000-7f0000204000 rw-p 00000000 00:01 1                          /memfd:wasm-memory-image (deleted)
7f0000300000-7f0000303000 rw-p 00002000 fe:00 2                          /var/lib/a folder/x.cwasm
7f0000400000-7f0000403000 rw-p 00000000 00:00 0
7f0000500000-7f0000503000 rw-p 00000000 00:00 0                          [heap]
nonsense
";
        let image = |name: &str| name.starts_with("/memfd:wasm");
        assert_eq!(copies_in(maps, 0x3000, image), [0x7f00_0000_0000]);
        assert_eq!(
            copies_in(maps, 0x3000, |name| name == "/var/lib/a folder/x.cwasm"),
            [0x7f00_0030_0000]
        );
        assert!(copies_in(maps, 0x5000, image).is_empty());
    }

    #[test]
    #[expect(unsafe_code, reason = "memory is mapped, and written to")]
    fn pages_that_were_written_to_differ_from_those_that_were_read() {
        without_huge_pages();
        let (page, pages) = (page_size(), 64);
        let file = tempfile::tempfile().unwrap();
        file.set_len((page * pages) as u64).unwrap();
        let (access, private) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        let length = page * pages;
        for of_file in [true, false] {
            // SAFETY: fresh mappings at addresses of the kernel's choice, touched within their length, through no
            // reference, and unmapped at the end.
            unsafe {
                let start = match of_file {
                    true => mmap(ptr::null_mut(), length, access, private, &file, 0),
                    false => mmap_anonymous(ptr::null_mut(), length, access, private),
                };
                let start = start.unwrap();
                let at = |number: usize| start.cast::<u8>().add(number * page);
                for number in 0..pages / 2 {
                    black_box(at(number).read_volatile());
                }
                // Of those that were read, of the others, and one twice.
                for number in [3, 40, 3] {
                    at(number).write_volatile(0);
                }
                let from = start.expose_provenance() as u64;
                let found = written(from..from + length as u64).unwrap();
                let numbers: Vec<usize> = (0..pages).filter(|number| found[*number]).collect();
                assert_eq!(
                    (found.len(), numbers),
                    (pages, vec![3, 40]),
                    "of a file: {of_file}"
                );
                munmap(start, length).unwrap();
            }
        }
    }
}
