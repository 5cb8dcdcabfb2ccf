//! The requirements of a program on its machine: the processor, and the version of the GNU C library. No I/O.

/// A section that lists the versions of symbols that a program needs (`SHT_GNU_verneed`).
const NEEDED_VERSIONS: u32 = 0x6fff_fffe;
/// Most entries of such a list that are read; a list that points back to itself ends.
const MAX_VERSIONS: usize = 10_000;
/// Longest name of a version, bytes.
const MAX_NAME: usize = 64;
/// Processors as ELF numbers them.
const X86_64: u16 = 62;
const AARCH64: u16 = 183;

/// Why a program does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Releases are for other processors.
    #[error("there is no release for processors of the kind {0}: x86_64 or aarch64")]
    Machine(&'static str),
    /// It is no program for 64-bit Linux.
    #[error("the program in it is none for Linux: its headers make no sense")]
    NoProgram,
    /// It is for another processor.
    #[error("the program in it is for another processor than this machine's {0}")]
    OtherMachine(&'static str),
    /// It needs a later C library.
    #[error(
        "the program in it needs glibc {needed}, this machine has {found}: use the container image"
    )]
    Library {
        /// The lowest version that is enough.
        needed: Glibc,
        /// The version of this machine.
        found: Glibc,
    },
    /// It needs the GNU C library.
    #[error(
        "the program in it needs glibc {0}, this machine has another C library: use the container image"
    )]
    OtherLibrary(Glibc),
}

/// A version of the GNU C library, such as 2.28.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glibc(u32, u32);

impl std::fmt::Display for Glibc {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}.{}", self.0, self.1)
    }
}

impl Glibc {
    /// Reads the first two numbers; `2.31-0ubuntu9` is 2.31.
    fn parse(text: &str) -> Option<Self> {
        let (major, rest) = text.split_once('.')?;
        let end = rest.find(|c: char| !c.is_ascii_digit());
        let minor = rest.get(..end.unwrap_or(rest.len()))?;
        Some(Self(major.parse().ok()?, minor.parse().ok()?))
    }
}

/// The requirements of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramNeeds {
    machine: u16,
    glibc: Option<Glibc>,
}

/// Returns the name of this machine's releases.
///
/// # Errors
/// There are none for it.
pub fn target() -> Result<&'static str, Unfit> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("x86_64-unknown-linux-gnu"),
        "aarch64" => Ok("aarch64-unknown-linux-gnu"),
        other => Err(Unfit::Machine(other)),
    }
}

/// Reads the headers of a program. Needed versions without a number, such as `GLIBC_PRIVATE`, are passed over: the program is
/// started once before it is used.
///
/// # Errors
/// [`Unfit::NoProgram`].
pub fn needs(bytes: &[u8]) -> Result<ProgramNeeds, Unfit> {
    read(bytes).ok_or(Unfit::NoProgram)
}

impl ProgramNeeds {
    /// Compares the needs with this machine. `glibc` is the version of its C library, if that is GNU's.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn refuse_unfit(&self, glibc: Option<&str>) -> Result<(), Unfit> {
        let machine = match std::env::consts::ARCH {
            "x86_64" => X86_64,
            "aarch64" => AARCH64,
            other => return Err(Unfit::Machine(other)),
        };
        if self.machine != machine {
            return Err(Unfit::OtherMachine(std::env::consts::ARCH));
        }
        let Some(needed) = self.glibc else {
            return Ok(());
        };
        match glibc.map(Glibc::parse) {
            Some(Some(found)) if found < needed => Err(Unfit::Library { needed, found }),
            // A version that cannot be read proves nothing; the program is started once.
            Some(_) => Ok(()),
            None => Err(Unfit::OtherLibrary(needed)),
        }
    }
}

fn read(bytes: &[u8]) -> Option<ProgramNeeds> {
    let file = ElfFile(bytes);
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let machine = file.u16(18)?;
    let (sections, size, count) = (file.u64(0x28)?, file.u16(0x3a)?, file.u16(0x3c)?);
    let header = |number: u32| {
        let offset = u64::from(number).checked_mul(u64::from(size))?;
        sections
            .checked_add(offset)
            .filter(|_| number < u32::from(count))
    };
    let mut glibc = None;
    for number in 0..u32::from(count) {
        let at = header(number)?;
        if file.u32(at.checked_add(4)?)? != NEEDED_VERSIONS {
            continue;
        }
        let list = file.u64(at.checked_add(24)?)?;
        let strings = header(file.u32(at.checked_add(40)?)?)?;
        let strings = file.u64(strings.checked_add(24)?)?;
        glibc = glibc.max(file.highest_glibc(list, strings)?);
    }
    Some(ProgramNeeds { machine, glibc })
}

struct ElfFile<'a>(&'a [u8]);

impl<'a> ElfFile<'a> {
    fn rest(&self, offset: u64) -> Option<&'a [u8]> {
        self.0.get(usize::try_from(offset).ok()?..)
    }

    fn u16(&self, offset: u64) -> Option<u16> {
        self.rest(offset)?
            .first_chunk()
            .copied()
            .map(u16::from_le_bytes)
    }

    fn u32(&self, offset: u64) -> Option<u32> {
        self.rest(offset)?
            .first_chunk()
            .copied()
            .map(u32::from_le_bytes)
    }

    fn u64(&self, offset: u64) -> Option<u64> {
        self.rest(offset)?
            .first_chunk()
            .copied()
            .map(u64::from_le_bytes)
    }

    /// Reads a name up to its NUL.
    fn name(&self, offset: u64) -> Option<&'a str> {
        let rest = self.rest(offset)?;
        let rest = rest.get(..MAX_NAME).unwrap_or(rest);
        let name = rest.split(|byte| *byte == 0).next()?;
        std::str::from_utf8(name).ok()
    }

    /// Returns the highest `GLIBC_…` of a list of needed versions, which is linked by distances to the next entry.
    fn highest_glibc(&self, list: u64, strings: u64) -> Option<Option<Glibc>> {
        let mut highest = None;
        let mut left = MAX_VERSIONS;
        let mut library = list;
        loop {
            let mut version = library.checked_add(self.u32(library.checked_add(8)?)?.into())?;
            for _ in 0..self.u16(library.checked_add(2)?)? {
                left = left.checked_sub(1)?;
                let name = self.u32(version.checked_add(8)?)?;
                let name = self.name(strings.checked_add(name.into())?)?;
                let number = name.strip_prefix("GLIBC_").and_then(Glibc::parse);
                highest = highest.max(number);
                version = version.checked_add(self.u32(version.checked_add(12)?)?.into())?;
            }
            left = left.checked_sub(1)?;
            match self.u32(library.checked_add(12)?)? {
                0 => return Some(highest),
                next => library = library.checked_add(next.into())?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// This test's own program, which the machine's linker made.
    fn this() -> Vec<u8> {
        std::fs::read(std::env::current_exe().unwrap()).unwrap()
    }

    #[test]
    fn a_real_program_fits_the_machine_that_made_it() {
        let needs = needs(&this()).unwrap();
        let glibc = needs.glibc.unwrap();
        assert!(glibc > Glibc(2, 2) && glibc < Glibc(3, 0), "{glibc}");
        let own = crate::node::system::glibc_version().unwrap();
        assert_eq!(needs.refuse_unfit(Some(&own)), Ok(()));
        assert_eq!(
            needs.refuse_unfit(Some("2.1")),
            Err(Unfit::Library {
                needed: glibc,
                found: Glibc(2, 1)
            })
        );
        assert_eq!(needs.refuse_unfit(None), Err(Unfit::OtherLibrary(glibc)));
        let other = ProgramNeeds {
            machine: 8,
            ..needs
        };
        assert!(matches!(
            other.refuse_unfit(Some(&own)),
            Err(Unfit::OtherMachine(_))
        ));
    }

    #[test]
    fn versions_count_by_number() {
        assert!(Glibc::parse("2.9") < Glibc::parse("2.28"));
        assert_eq!(Glibc::parse("2.31-0ubuntu9"), Some(Glibc(2, 31)));
        assert_eq!(Glibc::parse("2.2.5"), Some(Glibc(2, 2)));
        for text in ["PRIVATE", "ABI_DT_RELR", "", "2", "2."] {
            assert_eq!(Glibc::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_program_is_refused() {
        for bytes in [
            b"".as_slice(),
            b"#!/bin/sh\n",
            b"\x7fELF\x01\x01",
            b"\x7fELF\x02\x01",
        ] {
            assert_eq!(needs(bytes), Err(Unfit::NoProgram));
        }
    }

    proptest! {
        /// Wrong headers give an error or a wrong answer, and never a crash or a loop.
        #[test]
        fn broken_headers_do_no_harm(changes in prop::collection::vec((0_usize..4096, any::<u8>()), 1..40)) {
            let mut bytes = std::fs::read("/bin/sh").unwrap();
            let sections = usize::try_from(u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap())).unwrap();
            for (at, value) in changes {
                // Half of them in the headers of sections.
                let at = if at % 2 == 0 { at / 2 } else { sections + at / 2 };
                if let Some(byte) = bytes.get_mut(at).filter(|_| at >= 6) {
                    *byte = value;
                }
            }
            let _ = needs(&bytes);
        }
    }
}
