//! Arguments of `cargo xtask dist`.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};

/// A kind of machine that releases are for, and what others call it.
#[derive(Debug, PartialEq, Eq)]
pub struct Machine {
    /// The target of Rust.
    pub target: &'static str,
    /// Its number in ELF files.
    pub elf: u16,
    /// Debian's name, which containers use as well.
    pub debian: &'static str,
    /// The name in packages of RPM.
    pub rpm: &'static str,
    /// Its number in packages of RPM.
    pub rpm_number: u16,
}

/// All of them.
pub static MACHINES: [Machine; 2] = [
    Machine {
        target: "x86_64-unknown-linux-gnu",
        elf: 62,
        debian: "amd64",
        rpm: "x86_64",
        rpm_number: 1,
    },
    Machine {
        target: "aarch64-unknown-linux-gnu",
        elf: 183,
        debian: "arm64",
        rpm: "aarch64",
        rpm_number: 19,
    },
];

impl Machine {
    /// Returns the machine with this target.
    ///
    /// # Errors
    /// Releases are not made for it.
    pub fn of(target: &str) -> Result<&'static Self> {
        let mut machines = MACHINES.iter();
        let found = machines.find(|machine| machine.target == target);
        found.with_context(|| {
            let known: Vec<&str> = MACHINES.iter().map(|machine| machine.target).collect();
            format!(
                "releases are made for {}, not for `{target}`",
                known.join(", ")
            )
        })
    }
}

/// The products and inputs of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// For which machine.
    pub machine: &'static Machine,
    /// A binary that is there already; built without one.
    pub binary: Option<PathBuf>,
    /// A gpud that runs here, for pages and completions of one that does not.
    pub native: Option<PathBuf>,
    /// The folder of the results.
    pub output: Option<PathBuf>,
    /// The secret key of minisign that signs the checksums.
    pub key: Option<PathBuf>,
    /// Whether an image is made as well.
    pub image: bool,
    /// Where the image's C library is copied from.
    pub libraries: PathBuf,
    /// Whether a binary may need a later C library than releases do, for tests.
    pub any_glibc: bool,
}

impl Options {
    /// Reads the arguments.
    ///
    /// # Errors
    /// Another argument, or one without its value.
    pub fn parse(arguments: &[String]) -> Result<Self> {
        let this = format!("{}-unknown-linux-gnu", env::consts::ARCH);
        let mut target = this.clone();
        let mut options = Self {
            machine: Machine::of(&this)?,
            binary: None,
            native: None,
            output: None,
            key: None,
            image: false,
            libraries: PathBuf::from("/"),
            any_glibc: false,
        };
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            let mut value = || rest.next().with_context(|| format!("{flag} needs a value"));
            match flag.as_str() {
                "--target" => target.clone_from(value()?),
                "--binary" => options.binary = Some(value()?.into()),
                "--native" => options.native = Some(value()?.into()),
                "--output" => options.output = Some(value()?.into()),
                "--key" => options.key = Some(value()?.into()),
                "--libraries" => options.libraries = value()?.into(),
                "--image" => options.image = true,
                "--any-glibc" => options.any_glibc = true,
                _ => bail!("dist has no argument `{flag}`, see `cargo xtask help`"),
            }
        }
        options.machine = Machine::of(&target)?;
        ensure!(
            options.binary.is_some() || !options.any_glibc,
            "--any-glibc is for a binary that is there already: --binary FILE"
        );
        Ok(options)
    }

    /// Returns the folder of the results: `dist-VERSION` in cargo's target folder unless another is named.
    pub fn folder(&self, target_dir: &Path, version: &str) -> PathBuf {
        let named = self.output.clone();
        named.unwrap_or_else(|| target_dir.join(format!("dist-{version}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn arguments_are_read() {
        let options = parse("--target aarch64-unknown-linux-gnu --binary /a --native /b --output /c --key /d --image --libraries /e --any-glibc").unwrap();
        assert_eq!(options.machine.debian, "arm64");
        assert_eq!(options.binary, Some("/a".into()));
        assert_eq!(options.native, Some("/b".into()));
        assert_eq!(options.key, Some("/d".into()));
        assert_eq!(options.libraries, Path::new("/e"));
        assert!(options.image && options.any_glibc);
        assert_eq!(options.folder(Path::new("/t"), "1"), Path::new("/c"));
        let plain = parse("").unwrap();
        assert!(plain.machine.target.starts_with(env::consts::ARCH));
        assert_eq!(plain.folder(Path::new("/t"), "1"), Path::new("/t/dist-1"));
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (text, said) in [
            ("--target", "--target needs a value"),
            (
                "--target riscv64gc-unknown-linux-gnu",
                "x86_64-unknown-linux-gnu, aarch64-",
            ),
            ("--profile dist", "no argument `--profile`"),
            ("--any-glibc", "--binary FILE"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
