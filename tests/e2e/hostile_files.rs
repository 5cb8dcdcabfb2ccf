//! System components on a machine whose `/proc` and `/sys` are not what they should be: every file of a made-up node
//! missing, forbidden, empty, garbage, huge, a folder, cut off, or beyond any number; and programs and services that
//! answer nonsense. No component may trap or blame the hardware, and what cannot be read is said.

mod healthy;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use gpud::{
    capability::Grants,
    component::{
        builtin::{self, Builtin},
        trial::{Trial, TrialOutcome},
    },
    model::{Health, HealthState, RepairAction, Trigger},
    node::{
        Boot, Node,
        files::Roots,
        simulated::{Canned, Simulation},
    },
    runtime::{CallError, Compiler, Limits, Plugin, PluginSource, Runtime, Wasm},
};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use serde_json::Value;

/// When every check here happens.
const NOW: u64 = 1_700_000_000_000;

/// One at a time: the first fills the cache of compiled code for the others.
static TURN: Mutex<()> = Mutex::new(());

/// What can be wrong with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    Missing,
    Denied,
    Empty,
    /// No text at all.
    Garbage,
    /// Beyond what a check reads.
    Huge,
    /// A folder of that name.
    Folder,
    /// Half of it.
    Cut,
    /// Each digit became twenty nines.
    Beyond,
    /// Each number below zero.
    Negative,
    /// The same lines, a thousand times.
    Repeated,
    /// A pipe that nobody writes to: merely opening it would wait.
    Pipe,
}

const DAMAGES: [Damage; 11] = [
    Damage::Missing,
    Damage::Denied,
    Damage::Empty,
    Damage::Garbage,
    Damage::Huge,
    Damage::Folder,
    Damage::Cut,
    Damage::Beyond,
    Damage::Negative,
    Damage::Repeated,
    Damage::Pipe,
];

impl Damage {
    fn bring_upon(self, root: &Path, path: &str, content: &str) {
        let put = |bytes: &[u8]| healthy::write(root, path, bytes);
        let file = root.join(path.trim_start_matches('/'));
        let digits = |by: &dyn Fn(char) -> String| {
            let text = content.chars();
            let text = text.map(|c| {
                if c.is_ascii_digit() {
                    by(c)
                } else {
                    c.to_string()
                }
            });
            text.collect::<String>()
        };
        match self {
            Self::Missing => healthy::remove(root, path),
            Self::Denied => {
                put(content.as_bytes());
                fs::set_permissions(file, fs::Permissions::from_mode(0o000)).unwrap();
            }
            Self::Empty => put(b""),
            Self::Garbage => put(&(0u16..4000)
                .map(|n| (n % 256 * 37 % 256) as u8 | 0x80)
                .collect::<Vec<_>>()),
            Self::Huge => {
                put(content.as_bytes());
                let file = fs::File::options().write(true).open(file).unwrap();
                // Sparse: the rest reads as zeros.
                file.set_len(64 << 20).unwrap();
            }
            Self::Folder => {
                healthy::remove(root, path);
                fs::create_dir_all(file).unwrap();
            }
            Self::Cut => put(content.as_bytes().get(..content.len() / 2).unwrap()),
            Self::Beyond => put(digits(&|_| "9".repeat(20)).as_bytes()),
            Self::Negative => put(digits(&|digit| format!("-{digit}")).as_bytes()),
            Self::Repeated => put(content.repeat(1000).as_bytes()),
            Self::Pipe => {
                healthy::remove(root, path);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                rustix::fs::mkfifoat(rustix::fs::CWD, &file, 0o644.into()).unwrap();
            }
        }
    }
}

/// A made-up node, and the components on it.
struct Lab {
    root: PathBuf,
    node: Arc<Node>,
    components: Vec<Component>,
    _folder: tempfile::TempDir,
}

struct Component {
    builtin: Builtin,
    plugin: Arc<Plugin>,
    roots: Roots,
}

impl Lab {
    /// With what programs and services answer.
    async fn new(canned: Canned) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        healthy::lay_out(&root);
        let simulation = Simulation {
            root: root.clone(),
            now: NOW,
            boot: Boot {
                id: "boot".into(),
                time: NOW - 10_000_000,
            },
            kmsg: "/dev/null".into(),
            canned,
        };
        let node = Arc::new(Node::simulated(simulation).unwrap());
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile-files-cache");
        let compiler = Compiler::InProcess;
        let runtime = Runtime::start(&cache, compiler, Arc::clone(&node)).unwrap();
        let mut components = Vec::new();
        for builtin in builtin::of_system() {
            components.push(Component::load(&runtime, builtin).await);
        }
        Self {
            root,
            node,
            components,
            _folder: folder,
        }
    }

    async fn trial(&self, component: &Component) -> Trial {
        let mut described = component.plugin.components().iter();
        let descriptor = described.find(|one| one.name == component.name());
        let descriptor = descriptor.unwrap().clone();
        let plugin = Arc::clone(&component.plugin);
        Trial::new(plugin, descriptor, Arc::from("{}"), Arc::clone(&self.node))
            .await
            .unwrap()
    }
}

impl Component {
    async fn load(runtime: &Runtime, builtin: Builtin) -> Self {
        let grants = builtin.grants(&Value::Null);
        let paths = ["sysfs", "statvfs"].into_iter();
        let paths = paths.filter_map(|kind| grants.get(kind)?.as_array());
        let paths: Vec<String> = paths
            .flatten()
            .filter_map(|path| path.as_str().map(str::to_owned))
            // Space of whatever is mounted.
            .filter(|path| path != "/**")
            .collect();
        let unpack = || builtin.unpack();
        let source = PluginSource {
            name: builtin.folder,
            wasm: Wasm::Packed {
                sha256: builtin.sha256,
                unpack: &unpack,
            },
            grants: Grants::parse(&grants).unwrap().of_builtin(),
            limits: Limits::default(),
        };
        Self {
            plugin: Arc::new(runtime.load(source).await.unwrap()),
            roots: Roots::parse(&paths).unwrap(),
            builtin,
        }
    }

    fn name(&self) -> &str {
        self.builtin.component
    }
}

/// What must hold of any check, whatever it found.
fn look(
    trial: &Trial,
    tried: &TrialOutcome,
    faults: &mut Vec<String>,
    when: &str,
) -> Vec<HealthState> {
    let name = &trial.descriptor().name;
    match &tried.report {
        Ok(_) | Err(CallError::Source(_)) => {}
        Err(error) => faults.push(format!("{name}, {when}: the checker {error}")),
    }
    if let Some(problem) = &tried.problem {
        faults.push(format!("{name}, {when}: {problem}"));
    }
    let states = trial.states(tried);
    for state in &states {
        let description = format!("{name}, {when}: {:?}, {}", state.health, state.reason);
        let actions = state.suggested_actions.iter();
        let mut actions = actions.flat_map(|actions| &actions.repair_actions);
        if actions.any(|action| {
            matches!(
                action,
                RepairAction::RebootSystem | RepairAction::HardwareInspection
            )
        }) {
            faults.push(format!("{description}: blames the hardware"));
        }
        if state.reason.is_empty() {
            faults.push(format!("{description}: without a reason"));
        }
        if std::env::var_os("GPUD_TEST_SHOW").is_some() {
            eprintln!(
                "{description} [{}]",
                state.error.as_deref().unwrap_or_default()
            );
        }
    }
    states
}

/// Root may read what nobody may; this thread, and those that it starts, may not any more.
fn give_up_rights_over_files() {
    let CapabilitySets {
        effective,
        permitted,
        inheritable,
    } = capabilities(None).unwrap();
    let all = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    let less = CapabilitySets {
        effective: effective - all,
        permitted,
        inheritable,
    };
    set_capabilities(None, less).unwrap();
}

fn alone(test: impl AsyncFnOnce()) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    give_up_rights_over_files();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(test());
}

fn well(healthy: &str) -> (String, i32, u16) {
    (healthy.to_owned(), 0, 200)
}

fn holds(faults: &[String]) {
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn on_a_healthy_node_nothing_is_wrong() {
    alone(async || {
        let lab = Lab::new(healthy::canned(well)).await;
        let mut faults = Vec::new();
        for component in &lab.components {
            let mut trial = lab.trial(component).await;
            for _ in 0..2 {
                let tried = trial.check(Trigger::Scheduled).await;
                for state in look(&trial, &tried, &mut faults, "healthy") {
                    // A made-up machine has no gRPC services.
                    let without_grpc = component.name() == "containerd";
                    if state.health == Health::Unhealthy && !without_grpc {
                        faults.push(format!("{}: {}", component.name(), state.reason));
                    }
                }
            }
        }
        holds(&faults);
    });
}

#[test]
fn whatever_is_wrong_with_all_files() {
    alone(async || {
        let lab = Lab::new(healthy::canned(well)).await;
        let mut faults = Vec::new();
        for damage in DAMAGES {
            for (path, content) in healthy::FILES {
                damage.bring_upon(&lab.root, path, content);
            }
            for component in &lab.components {
                let mut trial = lab.trial(component).await;
                for _ in 0..2 {
                    let tried = trial.check(Trigger::Scheduled).await;
                    look(
                        &trial,
                        &tried,
                        &mut faults,
                        &format!("all files {damage:?}"),
                    );
                }
            }
            for (path, content) in healthy::FILES {
                healthy::write(&lab.root, path, content.as_bytes());
            }
        }
        holds(&faults);
    });
}

/// Each file by itself, between two good readings, so that what a component remembers takes part.
#[test]
fn whatever_is_wrong_with_one_file() {
    alone(async || {
        let lab = Lab::new(healthy::canned(well)).await;
        let mut faults = Vec::new();
        for component in &lab.components {
            let mut trial = lab.trial(component).await;
            for (path, content) in healthy::FILES {
                if !component.roots.allows(path) {
                    continue;
                }
                for damage in DAMAGES {
                    let tried = trial.check(Trigger::Scheduled).await;
                    look(&trial, &tried, &mut faults, "healthy");
                    damage.bring_upon(&lab.root, path, content);
                    // On demand, nothing is taken from memory.
                    let tried = trial.check(Trigger::Manual).await;
                    look(&trial, &tried, &mut faults, &format!("{path} {damage:?}"));
                    healthy::write(&lab.root, path, content.as_bytes());
                }
            }
        }
        holds(&faults);
    });
}

#[test]
fn whatever_programs_and_services_answer() {
    type Answer = fn(&str) -> (String, i32, u16);
    let answers: [(&str, Answer); 12] = [
        ("nothing", |_| (String::new(), 0, 200)),
        ("failure", |_| ("something went wrong".into(), 1, 500)),
        ("not found", |_| ("no such thing".into(), 127, 404)),
        ("garbage", |_| {
            ("\u{fffd}\u{1}\0\u{7f}\u{202e}".repeat(500), 0, 200)
        }),
        ("cut", |healthy| {
            (healthy.chars().take(healthy.len() / 2).collect(), 0, 200)
        }),
        ("far too much", |healthy| {
            (
                healthy.repeat(3 << 20 >> healthy.len().max(1).ilog2()),
                0,
                200,
            )
        }),
        ("one long line", |_| ("x".repeat(3 << 20), 0, 200)),
        ("an empty object", |_| ("{}".into(), 0, 200)),
        ("a list", |_| ("[]".into(), 0, 200)),
        ("null", |_| ("null".into(), 0, 200)),
        ("deep", |_| ("[".repeat(100_000), 0, 200)),
        ("numbers beyond", |healthy| {
            let far = healthy.chars().map(|c| match c {
                '0'..='9' => "9".repeat(20),
                other => other.to_string(),
            });
            (far.collect(), 0, 200)
        }),
    ];
    alone(async || {
        let mut faults = Vec::new();
        for (what, answer) in answers {
            let lab = Lab::new(healthy::canned(answer)).await;
            for component in &lab.components {
                let mut trial = lab.trial(component).await;
                for _ in 0..2 {
                    let tried = trial.check(Trigger::Scheduled).await;
                    look(
                        &trial,
                        &tried,
                        &mut faults,
                        &format!("programs answer {what}"),
                    );
                }
            }
        }
        let lab = Lab::new(Canned::default()).await;
        for component in &lab.components {
            let mut trial = lab.trial(component).await;
            let tried = trial.check(Trigger::Scheduled).await;
            look(&trial, &tried, &mut faults, "without programs and services");
        }
        holds(&faults);
    });
}
