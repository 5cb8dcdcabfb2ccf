//! Chooses the archive of a release, and finds out whether it is a step forward. No I/O.

use super::version::Version;
use crate::{cli::terminal::printable, pack::hex};

/// The archive that is wanted of a release.
#[derive(Debug, Clone, Copy)]
pub struct ArchiveQuery<'a> {
    /// The machines that the archive is for, such as `x86_64-unknown-linux-gnu`.
    pub target: &'a str,
    /// This version; else the latest.
    pub version: Option<&'a str>,
    /// This archive.
    pub archive: Option<&'a str>,
}

/// An archive that a list of checksums names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// Its file.
    pub name: String,
    /// Its version.
    pub version: String,
    sha256: String,
    order: Version,
}

/// Why no archive is taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// The list has none for this machine.
    #[error("SHA256SUMS lists no archive for {0}")]
    NoTarget(String),
    /// The list has other versions.
    #[error("SHA256SUMS has no version {version} for {target}; it has {others}")]
    NoVersion {
        /// The one that was asked for.
        version: String,
        /// This machine.
        target: String,
        /// The versions that are there.
        others: String,
    },
    /// The named archive is not in the list, or for another machine.
    #[error("{archive} is not in SHA256SUMS as an archive for {target}")]
    NoArchive {
        /// The file.
        archive: String,
        /// This machine.
        target: String,
    },
    /// The file is not what was signed.
    #[error("it does not have the checksum of SHA256SUMS: it is damaged, or was changed")]
    Checksum,
    /// It would be a step back.
    #[error(
        "{new} is earlier than the installed {installed}; --allow-downgrade takes it nevertheless"
    )]
    Downgrade {
        /// The installed version.
        installed: String,
        /// The version of the release.
        new: String,
    },
}

/// The direction of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To a later version, or from one that is not known.
    Forward,
    /// To the same.
    Same,
    /// To an earlier one.
    Back,
}

/// Returns the direction from the installed version to another.
///
/// # Errors
/// It is a step back, which was not allowed.
pub fn step(
    installed: Option<&str>,
    new: &str,
    allow_downgrade: bool,
) -> Result<Direction, ReleaseError> {
    let parse = |text: &str| Version::parse(text.trim_start_matches('v'));
    let (Some(before), Some(after)) = (installed.and_then(parse), parse(new)) else {
        return Ok(Direction::Forward);
    };
    match after.cmp(&before) {
        std::cmp::Ordering::Greater => Ok(Direction::Forward),
        std::cmp::Ordering::Equal => Ok(Direction::Same),
        std::cmp::Ordering::Less if allow_downgrade => Ok(Direction::Back),
        std::cmp::Ordering::Less => Err(ReleaseError::Downgrade {
            installed: printable(installed.unwrap_or_default()),
            new: new.to_owned(),
        }),
    }
}

/// Chooses an archive from a list of checksums, whose signature was verified.
///
/// # Errors
/// [`ReleaseError`]: it lists none that fits.
pub fn choose(sums: &str, wanted: &ArchiveQuery<'_>) -> Result<Archive, ReleaseError> {
    let target = || wanted.target.to_owned();
    let mut archives: Vec<_> = sums
        .lines()
        .filter_map(|line| archive(line, wanted.target))
        .collect();
    archives.sort_by(|a, b| a.order.cmp(&b.order));
    if let Some(name) = wanted.archive {
        let found = archives.into_iter().find(|archive| archive.name == name);
        return found.ok_or_else(|| ReleaseError::NoArchive {
            archive: printable(name),
            target: target(),
        });
    }
    let Some(version) = wanted.version else {
        let latest = archives.pop();
        return latest.ok_or_else(|| ReleaseError::NoTarget(target()));
    };
    let version = version.trim_start_matches('v');
    let versions: Vec<_> = archives.iter().map(|found| found.version.clone()).collect();
    let found = archives.into_iter().find(|found| found.version == version);
    found.ok_or_else(|| ReleaseError::NoVersion {
        version: printable(version),
        target: target(),
        others: match versions.is_empty() {
            true => "none".to_owned(),
            false => versions.join(", "),
        },
    })
}

/// Reads `SUM  gpud-VERSION-TARGET.tar.gz`.
fn archive(line: &str, target: &str) -> Option<Archive> {
    let (sum, name) = line.split_once("  ")?;
    let is_sum = sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
    let rest = name.strip_prefix("gpud-")?.strip_suffix(".tar.gz")?;
    let version = rest.strip_suffix(target)?.strip_suffix('-')?;
    let order = Version::parse(version).filter(|_| is_sum)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
    version.bytes().all(is_plain).then(|| Archive {
        name: name.to_owned(),
        version: version.to_owned(),
        sha256: sum.to_ascii_lowercase(),
        order,
    })
}

impl Archive {
    /// Returns the folder in it that holds everything.
    pub fn folder(&self) -> &str {
        self.name.strip_suffix(".tar.gz").unwrap_or(&self.name)
    }

    /// Checks the checksum.
    ///
    /// # Errors
    /// [`ReleaseError::Checksum`].
    pub fn verify(&self, bytes: &[u8]) -> Result<(), ReleaseError> {
        let found = hex(bytes);
        (found == self.sha256)
            .then_some(())
            .ok_or(ReleaseError::Checksum)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TARGET: &str = "x86_64-unknown-linux-gnu";

    fn sums(versions: &[&str]) -> String {
        let sum = "ab".repeat(32);
        let line = |version: &&str| format!("{sum}  gpud-{version}-{TARGET}.tar.gz\n");
        let other = format!(
            "{sum}  gpud-9.0.0-aarch64-unknown-linux-gnu.tar.gz\n{sum}  install.sh\nnonsense\n"
        );
        versions.iter().map(line).collect::<String>() + &other
    }

    fn chosen(
        versions: &[&str],
        version: Option<&str>,
        archive: Option<&str>,
    ) -> Result<String, String> {
        let wanted = ArchiveQuery {
            target: TARGET,
            version,
            archive,
        };
        choose(&sums(versions), &wanted)
            .map(|archive| archive.version)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_latest_for_this_machine_is_chosen_by_number() {
        let versions = ["0.9.0", "0.10.0", "0.10.0-rc.1", "0.2.0"];
        assert_eq!(chosen(&versions, None, None), Ok("0.10.0".to_owned()));
        assert_eq!(
            chosen(&versions, Some("v0.9.0"), None),
            Ok("0.9.0".to_owned())
        );
        let file = format!("gpud-0.2.0-{TARGET}.tar.gz");
        assert_eq!(chosen(&versions, None, Some(&file)), Ok("0.2.0".to_owned()));
        assert_eq!(
            chosen(&versions, Some("7.0.0"), None).unwrap_err(),
            format!(
                "SHA256SUMS has no version 7.0.0 for {TARGET}; it has 0.2.0, 0.9.0, 0.10.0-rc.1, 0.10.0"
            )
        );
        assert_eq!(
            chosen(&[], None, None).unwrap_err(),
            format!("SHA256SUMS lists no archive for {TARGET}")
        );
        let other = "gpud-9.0.0-aarch64-unknown-linux-gnu.tar.gz";
        assert!(
            chosen(&versions, None, Some(other))
                .unwrap_err()
                .contains("is not in SHA256SUMS")
        );
    }

    #[test]
    fn names_that_are_no_archives_are_passed_over() {
        for version in [
            "../../etc",
            "1.2",
            "1.2.3.4",
            "1.2.x",
            "",
            "1.2.3-",
            "+1.2.3",
            "1.2.3/x",
        ] {
            assert!(chosen(&[version], None, None).is_err(), "{version}");
        }
    }

    #[test]
    fn a_step_back_needs_leave() {
        assert_eq!(step(Some("0.1.0"), "0.2.0", false), Ok(Direction::Forward));
        assert_eq!(step(Some("0.2.0"), "0.2.0", false), Ok(Direction::Same));
        assert_eq!(
            step(Some("0.2.0-rc.1"), "0.2.0", false),
            Ok(Direction::Forward)
        );
        assert_eq!(step(None, "0.2.0", false), Ok(Direction::Forward));
        assert_eq!(
            step(Some("made by hand"), "0.2.0", false),
            Ok(Direction::Forward)
        );
        let refused = step(Some("v0.10.0"), "0.9.0", false).unwrap_err();
        assert!(
            refused.to_string().contains("--allow-downgrade"),
            "{refused}"
        );
        assert_eq!(step(Some("0.10.0"), "0.9.0", true), Ok(Direction::Back));
    }

    #[test]
    fn a_changed_archive_is_noticed() {
        let sum = hex(b"content");
        let line = format!("{sum}  gpud-1.0.0-{TARGET}.tar.gz");
        let archive = archive(&line, TARGET).unwrap();
        assert_eq!(archive.folder(), format!("gpud-1.0.0-{TARGET}"));
        assert_eq!(archive.verify(b"content"), Ok(()));
        assert_eq!(archive.verify(b"Content"), Err(ReleaseError::Checksum));
    }

    proptest! {
        #[test]
        fn any_list_gives_an_archive_of_it_or_none(sums in "[ -~\n]{0,400}") {
            let wanted = ArchiveQuery { target: TARGET, version: None, archive: None };
            if let Ok(archive) = choose(&sums, &wanted) {
                prop_assert!(sums.contains(&archive.name));
                prop_assert!(!archive.name.contains('/'));
            }
        }
    }
}
