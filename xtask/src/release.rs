//! The release binary: gpud with the compiled code of its built-in components behind it.

use std::{env, ffi::OsString, fs, path::PathBuf, process::Command};

use anyhow::{Context, Result, bail, ensure};

use crate::steps::Cargo;

/// The flag for rustc that packs relocations, which are 3 MB of the program otherwise.
const PACKED_RELOCATIONS: &str = "link-arg=-Wl,-z,pack-relative-relocs";

/// The first version of the GNU C library that loads programs with packed relocations.
const LOADS_PACKED_RELOCATIONS: (u32, u32) = (2, 36);

/// How a release is built.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// The profile of cargo: `release`, or `dist` for what is given to others.
    profile: String,
    /// Machines of another kind than this one.
    target: Option<String>,
    /// What links it for machines with an older C library than this one's.
    linker: Option<Zig>,
}

/// cargo-zigbuild, which links for a version of the GNU C library that the caller names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zig {
    /// The folder with cargo-zigbuild and Zig, in front of `PATH`.
    pub programs: PathBuf,
    /// The version, such as `2.28`.
    pub glibc: String,
    /// Flags for rustc.
    pub rust_flags: String,
    /// Flags for the C compiler.
    pub c_flags: String,
    /// The commit, which `gpud --version` then says.
    pub commit: String,
}

impl Options {
    /// The profile `release`, for machines like this one.
    pub fn plain() -> Self {
        Self {
            profile: "release".to_owned(),
            target: None,
            linker: None,
        }
    }

    /// The profile `dist`, for a target and a version of the C library.
    pub fn dist(target: &str, linker: Zig) -> Self {
        Self {
            profile: "dist".to_owned(),
            target: Some(target.to_owned()),
            linker: Some(linker),
        }
    }

    /// Reads `--profile NAME` and `--target TRIPLE`.
    ///
    /// # Errors
    /// Another argument, or one without its value.
    pub fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self::plain();
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            let mut value = || rest.next().cloned();
            match flag.as_str() {
                "--profile" => {
                    let profile = value().context("--profile needs a name: release or dist")?;
                    ensure!(
                        ["release", "dist"].contains(&profile.as_str()),
                        "no profile `{profile}` for releases: release or dist"
                    );
                    options.profile = profile;
                }
                "--target" => {
                    options.target = Some(value().context("--target needs a target triple")?);
                }
                _ => bail!("release takes `--profile NAME` and `--target TRIPLE`, not `{flag}`"),
            }
        }
        Ok(options)
    }
}

/// Builds gpud, lets it compile its built-in components, and puts their code into the binary. For machines of another kind,
/// a gpud of this machine compiles them.
///
/// # Errors
/// A step failed; the binary is as cargo left it then.
pub fn run(cargo: &Cargo, options: &Options) -> Result<PathBuf> {
    let Options {
        profile,
        target,
        linker,
    } = options;
    let mut folder = cargo.target_dir();
    folder.extend(target);
    folder.push(profile);
    let mut build = cargo.command();
    match linker {
        // Unlike `build`, this takes flags for the program alone.
        None => build.arg("rustc"),
        Some(zig) => build
            .args(["zigbuild", "--locked"])
            .envs(zig.environment()?),
    };
    build.args(["--profile", profile, "--package", "gpud", "--bin", "gpud"]);
    if let Some(target) = target {
        // cargo-zigbuild takes the version of the C library behind the target; the folder has the target's own name.
        let version = linker.as_ref().map(|zig| format!(".{}", zig.glibc));
        build.arg("--target");
        build.arg(format!("{target}{}", version.unwrap_or_default()));
    }
    if linker.is_none() && target.is_none() && loads_packed_relocations() {
        build.args(["--", "-C", PACKED_RELOCATIONS]);
    }
    cargo.timed("build gpud", build)?;
    let (program, archive) = (folder.join("gpud"), folder.join("gpud-builtins"));
    // One of this machine's processor runs here, and compiles for itself.
    let foreign = target.as_ref().filter(|target| !runs_here(target));
    let compiler = match foreign {
        None => program.clone(),
        // Components depend on the flags that they are built with, and code on the component.
        Some(_) => {
            let flags = linker.as_ref().map(|zig| zig.rust_flags.as_str());
            cross_compiler(cargo, flags.unwrap_or_default())?
        }
    };
    let mut compiling = Command::new(compiler);
    compiling
        .args(["compile-builtins", "--output"])
        .arg(&archive)
        .arg("--into")
        .arg(&program);
    if let Some(target) = foreign {
        compiling.args(["--target", target]);
    }
    cargo.timed("compile its built-in components", compiling)?;
    Ok(program)
}

/// Command `release`.
///
/// # Errors
/// As [`Options::parse`] and [`run`].
pub fn command(cargo: &Cargo, arguments: &[String]) -> Result<()> {
    let program = run(cargo, &Options::parse(arguments)?)?;
    let size = fs::metadata(&program)?.len();
    eprintln!("xtask: the binary has {size} bytes");
    println!("{}", program.display());
    Ok(())
}

/// Whether programs of this target run on this machine.
pub fn runs_here(target: &str) -> bool {
    let processor = target.split('-').next();
    processor == Some(env::consts::ARCH) && target.ends_with("-linux-gnu")
}

/// Whether this machine's C library loads programs with packed relocations. A program that was linked here needs this
/// machine's version of the library in any case.
fn loads_packed_relocations() -> bool {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    output.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        glibc_version(&text).is_some_and(|version| version >= LOADS_PACKED_RELOCATIONS)
    })
}

/// Reads the answer of `getconf GNU_LIBC_VERSION`, such as `glibc 2.36`.
fn glibc_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}

impl Zig {
    /// The variables with which cargo runs.
    fn environment(&self) -> Result<Vec<(&'static str, OsString)>> {
        let mut path = vec![self.programs.clone()];
        if let Some(before) = env::var_os("PATH") {
            path.extend(env::split_paths(&before));
        }
        Ok(vec![
            ("PATH", env::join_paths(path).context("PATH")?),
            ("RUSTFLAGS", self.rust_flags.clone().into()),
            (xtask::FURTHER_GUEST_FLAGS, self.rust_flags.clone().into()),
            ("CFLAGS", self.c_flags.clone().into()),
            ("GPUD_COMMIT", self.commit.clone().into()),
        ])
    }
}

/// Builds a gpud of this machine that compiles for all processors. Its built-in components are built with these flags.
pub fn cross_compiler(cargo: &Cargo, flags_of_components: &str) -> Result<PathBuf> {
    // In a folder of its own: other features mean another build of all that depends on them. Not a release, and without
    // exports: it compiles a few components once, and what it makes is the same.
    let program = cross_program(cargo);
    let folder = cargo.target_dir().join("cross");
    let folder = folder
        .to_str()
        .context("the target folder's name is no text")?;
    let build = [
        "build",
        "--package",
        "gpud",
        "--bin",
        "gpud",
        "--no-default-features",
        "--features",
        "cross",
        "--target-dir",
        folder,
    ];
    let flags = [(xtask::FURTHER_GUEST_FLAGS, flags_of_components)];
    cargo.run_with("build a gpud that compiles for it", &build, &flags)?;
    Ok(program)
}

/// Returns where [`cross_compiler`] puts its program.
pub fn cross_program(cargo: &Cargo) -> PathBuf {
    cargo.target_dir().join("cross/debug/gpud")
}

/// Copies the release binary to where `cargo bench`, which builds its own, does not replace it.
///
/// # Errors
/// It cannot be copied.
pub fn for_benchmarks(cargo: &Cargo) -> Result<()> {
    let program = run(cargo, &Options::plain())?;
    let folder = cargo.target_dir().join("bench");
    fs::create_dir_all(&folder)?;
    let copy = folder.join("gpud");
    // One that still runs cannot be written to.
    let _ = fs::remove_file(&copy);
    fs::copy(&program, &copy).with_context(|| copy.display().to_string())?;
    ensure!(copy.is_file(), "{} is not there", copy.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_and_target_are_read() {
        let parse = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            Options::parse(&words).map_err(|error| error.to_string())
        };
        assert_eq!(parse(""), Ok(Options::plain()));
        let both = Options {
            profile: "dist".to_owned(),
            target: Some("aarch64-unknown-linux-gnu".to_owned()),
            linker: None,
        };
        for text in [
            "--profile dist --target aarch64-unknown-linux-gnu",
            "--target aarch64-unknown-linux-gnu --profile dist",
        ] {
            assert_eq!(parse(text).as_ref(), Ok(&both));
        }
        for (text, said) in [
            ("--profile", "needs a name"),
            ("--target", "needs a target triple"),
            ("--profile guest", "no profile `guest`"),
            ("dist", "not `dist`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn versions_of_the_c_library_are_read() {
        for (text, version) in [
            ("glibc 2.36\n", Some((2, 36))),
            ("glibc 2.4.1", Some((2, 4))),
            ("glibc 3.0", Some((3, 0))),
            ("musl 1.2", None),
            ("glibc", None),
            ("", None),
        ] {
            assert_eq!(glibc_version(text), version, "{text}");
        }
        assert!(glibc_version("glibc 2.4") < Some(LOADS_PACKED_RELOCATIONS));
    }

    #[test]
    fn only_this_machines_programs_run_here() {
        let this = format!("{}-unknown-linux-gnu", env::consts::ARCH);
        assert!(runs_here(&this));
        for other in ["riscv64gc-unknown-linux-gnu", "wasm32-unknown-unknown", ""] {
            assert!(!runs_here(other), "{other}");
        }
        assert!(!runs_here(&this.replace("gnu", "musl")));
    }
}
