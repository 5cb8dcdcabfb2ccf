//! `cargo xtask …`: everything a developer or CI does to this repository, set-up included.

mod bench;
mod console;
mod dist;
mod fuzz;
mod page;
mod release;
mod setup;
mod steps;
mod test;

use std::{env, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};

use steps::Cargo;

const USAGE: &str = "\
cargo xtask COMMAND

  scan [ARGS…]   as release, and scan this machine (ARGS go to `gpud scan`)
  release [--profile release|dist] [--target TRIPLE]
                 set up, build gpud, and put the compiled code of its built-in components into target/PROFILE/gpud;
                 `dist` takes longer to build, and is smaller
  dist [--target TRIPLE] [--key FILE] [--image] [--output FOLDER] [--binary FILE] [--native FILE]
                 make what is given to others, for machines with glibc 2.28 or later: an archive, packages for Debian and
                 RPM, an image, the SDKs, lists of parts and licences, checksums and their signature (docs/releasing.md)
  test [--long]  set up, then everything that CI runs: format, lints, unit and end-to-end tests, packs, engines;
                 with `--long` also documentation, fuzzing, plugins in every language, Kubernetes, OTLP, a browser
  fuzz [--seconds N] [TARGET…]
                 run these fuzz targets, or all, for N (20) seconds each
  page [--check] build the page that gpud serves into host/page/dist, or compare what is there with its sources
  bench          build for release and print the table of figures with their targets
  setup          add what the toolchain lacks
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let command = arguments.next();
    let rest: Vec<String> = arguments.collect();
    let cargo = Cargo::at(workspace()?);
    match command.as_deref() {
        Some("setup") => {
            setup::run(&cargo)?;
            setup::run_long(&cargo)
        }
        Some("scan") => {
            setup::run(&cargo)?;
            release::run(&cargo, &release::Options::plain())?;
            let mut scan = vec!["scan".to_owned()];
            scan.extend(rest);
            cargo.release_binary("gpud", &scan)
        }
        Some("release") => {
            setup::run(&cargo)?;
            release::command(&cargo, &rest)
        }
        Some("dist") => dist::command(&cargo, &rest),
        Some("test") => {
            let is_long = match rest.first().map(String::as_str) {
                None => false,
                Some("--long") => true,
                Some(other) => bail!("test takes `--long`, not `{other}`"),
            };
            test::run(&cargo)?;
            if is_long {
                test::run_long(&cargo)?;
            }
            Ok(())
        }
        Some("fuzz") => fuzz::command(&cargo, &rest),
        Some("page") => page::command(&cargo, &rest),
        Some("bench") => bench::run(&cargo, &rest),
        Some("help" | "--help" | "-h") | None => {
            print!("{USAGE}");
            Ok(())
        }
        Some(other) => bail!("no command `{other}`\n\n{USAGE}"),
    }
}

fn workspace() -> Result<PathBuf> {
    // `cargo run` says where the package is: in a target folder that several checkouts share, the program is of any of them.
    let here =
        env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let here = PathBuf::from(here);
    here.parent()
        .map(PathBuf::from)
        .context("xtask is a folder of the workspace")
}
