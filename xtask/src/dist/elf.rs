//! What a program asks of the machine that runs it: processor, libraries, and versions of their symbols.

use std::fmt;

use anyhow::{Context, Result, bail, ensure};

/// A section that lists the versions of symbols that a program needs (`SHT_GNU_verneed`).
const NEEDED_VERSIONS: u32 = 0x6fff_fffe;
/// A section for the dynamic loader (`SHT_DYNAMIC`).
const DYNAMIC: u32 = 6;
/// An entry of that section that names a library (`DT_NEEDED`).
const NEEDED: u64 = 1;
/// A segment that names the dynamic loader (`PT_INTERP`).
const INTERPRETER: u32 = 3;

/// The facts of a program in its ELF headers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The processor, as ELF numbers it.
    pub machine: u16,
    /// The dynamic loader.
    pub loader: Option<String>,
    /// Libraries that the loader loads at the start.
    pub libraries: Vec<String>,
    /// Versions of symbols: the library, and the version's name such as `GLIBC_2.28`.
    pub versions: Vec<(String, String)>,
}

/// A version of the GNU C library, such as 2.28.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glibc(pub u32, pub u32);

impl fmt::Display for Glibc {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}.{}", self.0, self.1)
    }
}

impl Program {
    /// Returns the lowest version of the GNU C library that has every symbol the program needs.
    ///
    /// # Errors
    /// It needs a part of the library that has no number, such as `GLIBC_PRIVATE` or `GLIBC_ABI_DT_RELR`.
    pub fn lowest_glibc(&self) -> Result<Option<Glibc>> {
        let mut highest = None;
        for (library, version) in &self.versions {
            let Some(number) = version.strip_prefix("GLIBC_") else {
                continue;
            };
            let number = parse_glibc(number)
                .with_context(|| format!("the program needs {version} of {library}"))?;
            highest = highest.max(Some(number));
        }
        Ok(highest)
    }
}

fn parse_glibc(text: &str) -> Result<Glibc> {
    let mut parts = text.split('.');
    let mut number = || -> Option<u32> { parts.next()?.parse().ok() };
    match (number(), number()) {
        (Some(major), Some(minor)) => Ok(Glibc(major, minor)),
        _ => bail!("`{text}` is no number of a version"),
    }
}

/// Reads the headers of a program.
///
/// # Errors
/// It is no 64-bit little-endian ELF file, or its headers point outside of it.
pub fn read(bytes: &[u8]) -> Result<Program> {
    let file = ElfFile(bytes);
    ensure!(
        bytes.starts_with(b"\x7fELF\x02\x01"),
        "no ELF file of a 64-bit little-endian machine"
    );
    let mut program = Program {
        machine: file.u16(18)?,
        ..Program::default()
    };
    let (segments, size, count) = (file.u64(0x20)?, file.u16(0x36)?, file.u16(0x38)?);
    for number in 0..u64::from(count) {
        let at = add(segments, number * u64::from(size))?;
        if file.u32(at)? == INTERPRETER {
            program.loader = Some(file.text(file.u64(add(at, 8)?)?)?);
        }
    }
    let (sections, size, count) = (file.u64(0x28)?, file.u16(0x3a)?, file.u16(0x3c)?);
    let header = |number: u32| {
        ensure!(number < u32::from(count), "no section {number}");
        add(sections, u64::from(number) * u64::from(size))
    };
    for number in 0..u32::from(count) {
        let at = header(number)?;
        let kind = file.u32(add(at, 4)?)?;
        if kind != DYNAMIC && kind != NEEDED_VERSIONS {
            continue;
        }
        let (offset, length) = (file.u64(add(at, 24)?)?, file.u64(add(at, 32)?)?);
        let strings = header(file.u32(add(at, 40)?)?)?;
        let strings = file.u64(add(strings, 24)?)?;
        if kind == DYNAMIC {
            for entry in 0..length / 16 {
                let entry = add(offset, entry * 16)?;
                if file.u64(entry)? == NEEDED {
                    let name = add(strings, file.u64(add(entry, 8)?)?)?;
                    program.libraries.push(file.text(name)?);
                }
            }
        } else {
            file.needed_versions(offset, strings, &mut program.versions)?;
        }
    }
    program.libraries.sort();
    program.versions.sort();
    Ok(program)
}

/// Adds up offsets of a file that somebody else wrote.
fn add(offset: u64, more: u64) -> Result<u64> {
    offset.checked_add(more).context("an offset is too large")
}

struct ElfFile<'a>(&'a [u8]);

impl ElfFile<'_> {
    fn bytes<const N: usize>(&self, offset: u64) -> Result<[u8; N]> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.0.get(offset..));
        let first = rest.and_then(|rest| rest.first_chunk::<N>());
        first.copied().context("the file ends too early")
    }

    fn u16(&self, offset: u64) -> Result<u16> {
        self.bytes(offset).map(u16::from_le_bytes)
    }

    fn u32(&self, offset: u64) -> Result<u32> {
        self.bytes(offset).map(u32::from_le_bytes)
    }

    fn u64(&self, offset: u64) -> Result<u64> {
        self.bytes(offset).map(u64::from_le_bytes)
    }

    /// Reads text up to a NUL.
    fn text(&self, offset: u64) -> Result<String> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.0.get(offset..))
            .context("a name is outside of the file")?;
        // Longer than any name: a broken file may have no NUL for megabytes.
        let rest = rest.get(..4096).unwrap_or(rest);
        let text = rest.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// Reads the list of needed versions, which is linked by distances to the next entry.
    fn needed_versions(
        &self,
        offset: u64,
        strings: u64,
        found: &mut Vec<(String, String)>,
    ) -> Result<()> {
        // More than any program has: a list that points back to itself ends.
        let mut left = 10_000;
        let mut library = offset;
        loop {
            let name = add(strings, u64::from(self.u32(add(library, 4)?)?))?;
            let name = self.text(name)?;
            let mut version = add(library, u64::from(self.u32(add(library, 8)?)?))?;
            for _ in 0..self.u16(add(library, 2)?)? {
                left -= 1;
                ensure!(left > 0, "the list of versions has no end");
                let text = add(strings, u64::from(self.u32(add(version, 8)?)?))?;
                found.push((name.clone(), self.text(text)?));
                version = add(version, u64::from(self.u32(add(version, 12)?)?))?;
            }
            left -= 1;
            ensure!(left > 0, "the list of versions has no end");
            match self.u32(add(library, 12)?)? {
                0 => return Ok(()),
                next => library = add(library, u64::from(next))?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// This test's own program, which the machine's linker made.
    fn this() -> Vec<u8> {
        std::fs::read(std::env::current_exe().unwrap()).unwrap()
    }

    #[test]
    fn a_real_program_is_read() {
        let program = read(&this()).unwrap();
        assert!(program.loader.as_ref().unwrap().contains("/ld-linux"));
        assert!(program.libraries.contains(&"libc.so.6".to_owned()));
        let lowest = program.lowest_glibc().unwrap().unwrap();
        assert!(lowest > Glibc(2, 2) && lowest < Glibc(3, 0), "{lowest}");
    }

    #[test]
    fn the_highest_version_counts_by_number() {
        let needs = |versions: &[&str]| {
            let versions = versions
                .iter()
                .map(|version| ("libc.so.6".to_owned(), (*version).to_owned()));
            let program = Program {
                versions: versions.collect(),
                ..Program::default()
            };
            program.lowest_glibc().map_err(|error| format!("{error:#}"))
        };
        assert_eq!(needs(&[]), Ok(None));
        assert_eq!(needs(&["GCC_3.0"]), Ok(None));
        assert_eq!(
            needs(&["GLIBC_2.4", "GLIBC_2.28", "GLIBC_2.3.4"]),
            Ok(Some(Glibc(2, 28)))
        );
        let error = needs(&["GLIBC_2.4", "GLIBC_ABI_DT_RELR"]).unwrap_err();
        assert!(error.contains("GLIBC_ABI_DT_RELR of libc.so.6"), "{error}");
    }

    #[test]
    fn what_is_no_program_is_refused() {
        for bytes in [
            b"".as_slice(),
            b"#!/bin/sh\n",
            b"\x7fELF\x01\x01",
            b"\x7fELF\x02\x01",
        ] {
            read(bytes).unwrap_err();
        }
    }

    proptest! {
        // Each case copies a whole program.
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Wrong headers give an error or a wrong answer, and never a crash or a loop.
        #[test]
        fn broken_headers_do_no_harm(changes in prop::collection::vec((0_usize..4096, any::<u8>()), 1..40)) {
            let mut bytes = this();
            let sections = usize::try_from(u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap())).unwrap();
            for (at, value) in changes {
                // Half of them in the headers of sections.
                let at = if at % 2 == 0 { at / 2 } else { sections + at / 2 };
                if let Some(byte) = bytes.get_mut(at).filter(|_| at >= 6) {
                    *byte = value;
                }
            }
            let _ = read(&bytes);
        }
    }
}
