//! `cargo xtask dist`: what is given to others, for machines with an older C library than this one's.
//!
//! Two runs for the same commit give the same bytes: every time is that of the commit, every list is sorted.

mod commit;
mod content;
mod cpio;
mod deb;
mod elf;
mod image;
mod licences;
mod metadata;
mod options;
mod printed;
mod rpm;
mod rpm_header;
mod sbom;
mod sdk;
mod sdk_crates;
mod sums;
mod tree;
mod zig;
mod zip;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{release, setup, steps::Cargo};
use commit::Commit;
use content::{Family, Inputs};
use elf::{Glibc, Program};
use options::{Machine, Options};
use tree::{Tree, gzip};

/// The C library that releases need at most: that of RHEL 8.
const GLIBC: Glibc = Glibc(2, 28);
/// Which packaging of a version this is, as Debian and RPM count it.
const RELEASE: &str = "1";
/// A binary that is larger is worth a look.
const LARGE: usize = 36 << 20;

/// Makes everything for one kind of machine, and adds it to the checksums of the folder.
///
/// # Errors
/// A step failed. What was made before is in the folder then, and not in its checksums.
pub fn command(cargo: &Cargo, arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let commit = commit::of(cargo.workspace())?;
    let program = match &options.binary {
        Some(file) => file.clone(),
        None => build(cargo, options.machine, &commit)?,
    };
    let bytes = fs::read(&program).with_context(|| program.display().to_string())?;
    let headers = elf::read(&bytes).with_context(|| program.display().to_string())?;
    let glibc = check(&headers, &options)?;
    if bytes.len() > LARGE {
        eprintln!(
            "xtask: the binary has {} bytes, more than {LARGE}",
            bytes.len()
        );
    }
    let parts = metadata::parts(cargo, options.machine.target)?;
    let release = Release {
        version: parts.version.clone(),
        machine: options.machine,
        time: commit.time,
        glibc,
        headers,
    };
    let folder = options.folder(&cargo.target_dir(), &release.version);
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let native = native(cargo, &options, &program)?;
    let printed = printed::ask(&native, &folder.join(".pages"))?;
    let sbom = sbom::document(&parts)?;
    let licences = licences::document(&parts)?;
    let inputs = Inputs {
        workspace: cargo.workspace(),
        program: &bytes,
        printed: &printed,
        sbom: &sbom,
        licences: &licences,
    };
    let mut files = release.files(&inputs)?;
    files.extend(sdk::packages(
        cargo.workspace(),
        &release.version,
        release.time,
    )?);
    let (name, crates) = sdk_crates::package(
        cargo,
        &release.version,
        release.time,
        &folder.join(".crates"),
    )?;
    files.insert(name, crates);
    if options.image {
        files.insert(release.image_name(), release.image(&inputs, &options)?);
    }
    write(&folder, &files, options.key.as_deref(), &release.version)
}

/// Builds the binary with Zig.
fn build(cargo: &Cargo, machine: &Machine, commit: &Commit) -> Result<PathBuf> {
    setup::run(cargo)?;
    let mut zig = zig::set_up(cargo, machine.target, &GLIBC.to_string())?;
    commit.short().clone_into(&mut zig.commit);
    release::run(cargo, &release::Options::dist(machine.target, zig))
}

/// Refuses a binary for another machine, or one that needs a later C library. Returns the version that it needs.
fn check(program: &Program, options: &Options) -> Result<Glibc> {
    let machine = options.machine;
    ensure!(
        program.machine == machine.elf,
        "the binary is for another machine than {}: ELF number {}, not {}",
        machine.target,
        program.machine,
        machine.elf
    );
    let glibc = program
        .lowest_glibc()?
        .context("the binary does not use the GNU C library")?;
    if glibc > GLIBC && !options.any_glibc {
        let named: Vec<&str> = program
            .versions
            .iter()
            .filter(|(_, version)| *version == format!("GLIBC_{glibc}"))
            .map(|(library, _)| library.as_str())
            .collect();
        bail!(
            "the binary needs glibc {glibc} ({}), releases need {GLIBC} at most; --any-glibc is for trying things out",
            named.join(", ")
        );
    }
    Ok(glibc)
}

/// The gpud that prints pages: the binary itself if it runs here.
fn native(cargo: &Cargo, options: &Options, program: &Path) -> Result<PathBuf> {
    match &options.native {
        Some(native) => Ok(native.clone()),
        None if release::runs_here(options.machine.target) => Ok(program.to_owned()),
        // It compiled the components of the binary.
        None if options.binary.is_none() => Ok(release::cross_program(cargo)),
        None => release::cross_compiler(cargo, ""),
    }
}

/// One release for one kind of machine.
struct Release {
    version: String,
    machine: &'static Machine,
    time: u64,
    glibc: Glibc,
    headers: Program,
}

impl Release {
    /// All files but the image, by name.
    fn files(&self, inputs: &Inputs) -> Result<BTreeMap<String, Vec<u8>>> {
        let name = format!("gpud-{}-{}", self.version, self.machine.target);
        let archive = inputs.archive(&name)?.tar(self.time)?;
        Ok(BTreeMap::from([
            (format!("{name}.tar.gz"), gzip(&archive)?),
            (format!("{name}.cdx.json"), inputs.sbom.to_vec()),
            (
                format!("{name}.licenses.txt"),
                inputs.licences.as_bytes().to_vec(),
            ),
            (
                format!(
                    "gpud_{}-{RELEASE}_{}.deb",
                    self.version, self.machine.debian
                ),
                self.deb(inputs)?,
            ),
            (
                format!("gpud-{}-{RELEASE}.{}.rpm", self.version, self.machine.rpm),
                self.rpm(inputs)?,
            ),
            (
                "install.sh".to_owned(),
                fs::read(inputs.workspace.join("deploy/install.sh"))?,
            ),
        ]))
    }

    fn deb(&self, inputs: &Inputs) -> Result<Vec<u8>> {
        let mut control = Tree::default();
        control.file("conffiles", 0o644, "/etc/default/gpud\n");
        for script in ["postinst", "prerm", "postrm"] {
            let text = inputs.script(&format!("deb/{script}"))?;
            control.file(script, 0o755, text);
        }
        let package = deb::DebPackage {
            version: format!("{}-{RELEASE}", self.version),
            machine: self.machine.debian,
            depends: deb::depends(&self.headers.libraries, &self.glibc.to_string())?,
            time: self.time,
            control,
            files: &inputs.package(Family::Debian)?,
        };
        package.encode()
    }

    fn rpm(&self, inputs: &Inputs) -> Result<Vec<u8>> {
        let package = rpm::RpmPackage {
            version: &self.version,
            release: RELEASE,
            machine: (self.machine.rpm, self.machine.rpm_number),
            requires: rpm::requires(&self.headers),
            time: u32::try_from(self.time)?,
            scripts: [
                (rpm::Script::AfterInstallation, inputs.script("rpm/post")?),
                (rpm::Script::BeforeRemoval, inputs.script("rpm/preun")?),
                (rpm::Script::AfterRemoval, inputs.script("rpm/postun")?),
            ],
            files: &inputs.package(Family::Rpm)?,
        };
        package.encode()
    }

    fn image_name(&self) -> String {
        format!("gpud-{}-{}.oci.tar", self.version, self.machine.debian)
    }

    fn image(&self, inputs: &Inputs, options: &Options) -> Result<Vec<u8>> {
        let base = image::base(&self.headers, self.machine, &options.libraries)?;
        let gpud = image::own(inputs.program, inputs.licences);
        let image = image::Image {
            version: &self.version,
            machine: self.machine,
            time: self.time,
            layers: [&base, &gpud],
        };
        image.encode()
    }
}

/// Writes the files, adds them to the checksums of the folder, and signs those.
fn write(
    folder: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    key: Option<&Path>,
    version: &str,
) -> Result<()> {
    let list = folder.join("SHA256SUMS");
    // Those of another kind of machine stay, if their files are still there.
    let mut sums = sums::read(&fs::read_to_string(&list).unwrap_or_default());
    sums.retain(|name, _| folder.join(name).is_file());
    for (name, content) in files {
        let path = folder.join(name);
        fs::write(&path, content).with_context(|| path.display().to_string())?;
        sums.insert(name.clone(), sums::sha256(content));
        println!("{}", path.display());
    }
    let text = sums::lines(&sums);
    fs::write(&list, &text).with_context(|| list.display().to_string())?;
    println!("{}", list.display());
    let signature = folder.join("SHA256SUMS.minisig");
    match key {
        None => {
            // One over other checksums would only mislead.
            let _ = fs::remove_file(&signature);
        }
        Some(key) => {
            fs::write(&signature, sums::sign(key, &text, version)?)
                .with_context(|| signature.display().to_string())?;
            println!("{}", signature.display());
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
