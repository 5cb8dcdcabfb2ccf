//! From guest crates to WebAssembly components.
//!
//! Guests are built for `wasm32-unknown-unknown` in a target folder of their own (so that a build script can call this
//! while cargo holds the main one) and encoded by `wit-component`: such components import no WASI at all.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{FURTHER_GUEST_FLAGS, GUEST_TARGET};

/// A small stack, so that all of a guest's memory fits a few pages that are quick to hand out and to clear. Rust's own
/// default of 1 MiB stands in front of the data and is hardly touched.
const LINKER_FLAGS: (&str, &str) = (
    "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS",
    "-C link-arg=-zstack-size=65536",
);

/// A checker that is part of the gpud binary: a folder under `builtin-plugins/` with a `manifest.json`.
pub struct Builtin {
    /// The folder's name.
    pub folder: String,
    /// Name of its component.
    pub component: String,
    /// What it may reach, JSON in the words of a spec's `grants`.
    pub grants: String,
    /// The folder of the crate whose component it is in: its own, or one that it shares with others.
    pub code: String,
}

impl Builtin {
    /// The package of the component that it is in.
    pub fn package(&self) -> String {
        format!("gpud-builtin-{}", self.code)
    }
}

/// The checkers that are part of the binary, by folder.
///
/// # Errors
/// When a manifest cannot be read or has other keys than `component`, `grants` and `code`.
pub fn builtins(workspace: &Path) -> Result<Vec<Builtin>> {
    let mut found = Vec::new();
    let plugins = workspace.join("builtin-plugins");
    for entry in fs::read_dir(&plugins).with_context(|| plugins.display().to_string())? {
        let entry = entry?;
        let path = entry.path().join("manifest.json");
        if !path.is_file() {
            continue;
        }
        let place = || path.display().to_string();
        let text = fs::read_to_string(&path).with_context(place)?;
        let manifest: GuestManifest = serde_json::from_str(&text).with_context(place)?;
        let folder = entry.file_name().to_string_lossy().into_owned();
        found.push(Builtin {
            code: manifest.code.unwrap_or_else(|| folder.clone()),
            folder,
            component: manifest.component,
            grants: serde_json::Value::Object(manifest.grants).to_string(),
        });
    }
    ensure!(!found.is_empty(), "no checkers in {}", plugins.display());
    found.sort_by(|a, b| a.folder.cmp(&b.folder));
    Ok(found)
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct GuestManifest {
    component: String,
    code: Option<String>,
    grants: serde_json::Map<String, serde_json::Value>,
}

/// What to build in a workspace.
pub enum GuestSelection {
    /// The `cdylib` of each of these packages.
    Packages(Vec<String>),
    /// Every example of one package, each a `cdylib`.
    ExamplesOf(String),
}

/// A component and the name of its crate or example.
pub struct Component {
    /// Crate or example name, with underscores.
    pub name: String,
    /// The component.
    pub bytes: Vec<u8>,
}

impl GuestSelection {
    /// The profile of cargo: what only tests run is not optimised across crates, which takes most of the time.
    fn profile(&self) -> &'static str {
        match self {
            Self::Packages(_) => "guest",
            Self::ExamplesOf(_) => "test-guest",
        }
    }
}

/// Builds guests and encodes them as components, sorted by name.
///
/// # Errors
/// When cargo fails (its output has been shown), or a guest does not fit the contract.
pub fn build(workspace: &Path, target_dir: &Path, what: &GuestSelection) -> Result<Vec<Component>> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(workspace)
        .args([
            "build",
            "--locked",
            "--profile",
            what.profile(),
            "--target",
            GUEST_TARGET,
        ])
        .arg("--target-dir")
        .arg(target_dir);
    let further = env::var(FURTHER_GUEST_FLAGS).unwrap_or_default();
    cargo.env(
        LINKER_FLAGS.0,
        format!("{} {further}", LINKER_FLAGS.1).trim(),
    );
    match what {
        GuestSelection::Packages(packages) => {
            for package in packages {
                cargo.args(["--package", package]);
            }
        }
        GuestSelection::ExamplesOf(package) => {
            cargo.args(["--package", package, "--examples"]);
        }
    }
    // A build script runs with flags meant for the host; guests must not inherit them.
    for variable in [
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTFLAGS",
        "CARGO_BUILD_TARGET",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
    ] {
        cargo.env_remove(variable);
    }
    let status = cargo.status().context("running cargo")?;
    ensure!(
        status.success(),
        "building guests failed; if the target is missing: rustup target add {GUEST_TARGET}"
    );
    let folder = target_dir.join(GUEST_TARGET).join(what.profile());
    let modules: Vec<PathBuf> = match what {
        GuestSelection::Packages(packages) => packages
            .iter()
            .map(|package| folder.join(format!("{}.wasm", package.replace('-', "_"))))
            .collect(),
        GuestSelection::ExamplesOf(package) => examples(workspace, &folder, package)?,
    };
    let mut components = Vec::new();
    for path in modules {
        let module = fs::read(&path).with_context(|| path.display().to_string())?;
        let bytes = wit_component::ComponentEncoder::default()
            .validate(true)
            .module(&module)
            .and_then(|mut encoder| encoder.encode())
            .with_context(|| format!("making a component of {}", path.display()))?;
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        components.push(Component { name, bytes });
    }
    components.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(components)
}

/// Returns a component of `tests/alone`, for tests that need a plugin of one component. They are built once.
///
/// # Panics
/// There is none of this name, it cannot be built, or this is no test.
pub fn alone(name: &str) -> &'static [u8] {
    static BUILT: LazyLock<Vec<Component>> = LazyLock::new(|| examples_of("gpud-alone"));
    named(&BUILT, name)
}

/// Returns a component of `tests/hostile`, for tests of what plugins get that want too much. They are built once.
///
/// # Panics
/// There is none of this name, it cannot be built, or this is no test.
pub fn hostile(name: &str) -> &'static [u8] {
    static BUILT: LazyLock<Vec<Component>> = LazyLock::new(|| examples_of("gpud-hostile"));
    named(&BUILT, name)
}

/// Builds the examples of a package in the folder of the test that runs.
fn examples_of(package: &str) -> Vec<Component> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let program = env::current_exe().expect("this program");
    let mut folders = program.ancestors();
    let profile = folders.find(|folder| folder.ends_with("deps"));
    let target = profile.and_then(|deps| deps.parent()?.parent());
    let what = GuestSelection::ExamplesOf(package.to_owned());
    let target = target.expect("a test").join("guests");
    build(workspace.expect("the workspace"), &target, &what).expect("plugins for tests")
}

fn named(built: &'static [Component], name: &str) -> &'static [u8] {
    let mut built = built.iter();
    let found = built.find(|component| component.name == name);
    &found.expect("a plugin for tests of this name").bytes
}

/// The examples' modules, by their sources: what an earlier build left in the folder does not count.
fn examples(workspace: &Path, folder: &Path, package: &str) -> Result<Vec<PathBuf>> {
    let sources = workspace
        .join("tests")
        .join(package.trim_start_matches("gpud-"))
        .join("examples");
    let mut modules = Vec::new();
    for entry in fs::read_dir(&sources).with_context(|| sources.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .replace('-', "_");
            modules.push(folder.join("examples").join(format!("{name}.wasm")));
        }
    }
    if modules.is_empty() {
        bail!("no examples in {}", sources.display());
    }
    Ok(modules)
}
