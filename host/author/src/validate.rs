//! Whether a component keeps to the contract, also on a machine that has nothing of what it looks for, where nothing is
//! granted, and when the kernel log is full of nonsense.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    component_file::{Compilation, ComponentFile},
    dry_run::chosen,
};
use crate::{
    capability::{Grants, Interface},
    component::{
        config,
        trial::{Trial, TrialOutcome},
    },
    model::{ComponentDescriptor, Trigger},
    node::{
        Boot, Node,
        kmsg::KernelMessage,
        simulated::{Canned, Simulation},
        temporary::TemporaryFolder,
    },
    runtime::{CallError, Limits, Plugin, Runtime},
};

/// The time on the made-up machine: 2026-01-01T00:00:00Z, an hour after its boot.
const NOW: u64 = 1_767_225_600_000;
const HOUR: u64 = 3_600_000;
/// Share of a limit, per cent, from which on it is said that there is little room.
const TIGHT: u64 = 50;

/// How a point was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// As it should be.
    Good,
    /// It works, but could be better.
    Note,
    /// It breaks the contract.
    Bad,
}

/// One point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Point {
    /// How it was met.
    pub grade: Grade,
    /// What was looked at, and what was found.
    pub text: String,
}

/// Collects points.
#[derive(Default)]
struct Points(Vec<Point>);

impl Points {
    fn add(&mut self, grade: Grade, text: impl Into<String>) {
        let text = text.into();
        self.0.push(Point { grade, text });
    }

    fn require(&mut self, met: bool, good: &str, bad: impl FnOnce() -> String) {
        match met {
            true => self.add(Grade::Good, good),
            false => self.add(Grade::Bad, bad()),
        }
    }
}

/// Holds the component of a file with this configuration, a mapping, against the contract.
///
/// # Errors
/// The file cannot be read, or no machine can be made up.
pub async fn validate(
    path: &Path,
    config: &Value,
    compilation: &Compilation,
) -> Result<Vec<Point>, String> {
    points(&ComponentFile::read(path).await?, config, compilation).await
}

/// Looks at everything.
async fn points(
    file: &ComponentFile,
    config: &Value,
    compilation: &Compilation,
) -> Result<Vec<Point>, String> {
    // Without any file, program or service.
    let folder = TemporaryFolder::create().map_err(|error| error.to_string())?;
    let simulation = Simulation {
        root: folder.path().to_owned(),
        now: NOW,
        boot: Boot {
            id: "00000000-0000-4000-8000-000000000000".to_owned(),
            time: NOW - HOUR,
        },
        kmsg: PathBuf::from("/dev/null"),
        canned: Canned::default(),
    };
    let node = Node::simulated(simulation).map_err(|error| error.to_string())?;
    let node = Arc::new(node);
    let runtime = compilation.start(Arc::clone(&node))?;
    let mut points = Points::default();
    let opened = match file.open(&runtime).await {
        Ok(opened) => opened,
        Err(error) => {
            points.add(Grade::Bad, error.to_string());
            return Ok(points.0);
        }
    };
    let plugin = match opened.plugin {
        Ok(plugin) => plugin,
        Err(error) => {
            points.add(Grade::Bad, error.to_string());
            return Ok(points.0);
        }
    };
    points.add(
        Grade::Good,
        "it is a component of this contract, and describes itself",
    );
    let words: Vec<_> = opened.shape.requests();
    let named: Vec<_> = words.iter().map(|interface| interface.word()).collect();
    let asks = match named.is_empty() {
        true => "nothing".to_owned(),
        false => named.join(", "),
    };
    points.add(Grade::Good, format!("it asks for {asks}"));
    if !opened.shape.wasi().is_empty() {
        let count = opened.shape.wasi().len();
        points.add(
            Grade::Note,
            format!("it imports {count} interfaces of WASI: an empty world answers, and starting takes longer"),
        );
    }
    let again = file
        .open(&runtime)
        .await
        .ok()
        .and_then(|opened| opened.plugin.ok());
    let same = again.is_some_and(|again| {
        again.components() == plugin.components() && again.version() == plugin.version()
    });
    points.require(same, "it describes itself the same each time", || {
        "it describes itself differently from time to time".to_owned()
    });
    if plugin.version().trim().is_empty() {
        points.add(Grade::Note, "its description has no version");
    }
    let wide = wide(&words).map_err(|error| error.to_string())?;
    let wide = load(file, &runtime, wide).await?;
    for described in chosen(&plugin, None)? {
        let component = Conformance {
            described,
            config,
            program: runtime.program(),
            node: &node,
        };
        component.look(&mut points, &plugin, &wide).await?;
    }
    Ok(points.0)
}

/// One component under scrutiny.
struct Conformance<'a> {
    described: ComponentDescriptor,
    config: &'a Value,
    /// The program of gpud, in a child of which the configuration is validated.
    program: Option<&'a Path>,
    node: &'a Arc<Node>,
}

impl Conformance<'_> {
    async fn look(
        &self,
        points: &mut Points,
        denied: &Arc<Plugin>,
        wide: &Arc<Plugin>,
    ) -> Result<(), String> {
        let name = &self.described.name;
        if self.described.description.trim().is_empty() {
            points.add(Grade::Note, format!("{name}: has no description"));
        }
        match config::check(&self.described, self.config, self.program).await {
            Ok(()) => {}
            Err(mismatch) if mismatch.message.starts_with("the plugin's") => {
                points.add(Grade::Bad, format!("{name}: {}", mismatch.message));
            }
            Err(mismatch) => points.add(
                Grade::Note,
                format!(
                    "{name}: needs a configuration (give one with --config): {}",
                    mismatch.message
                ),
            ),
        }
        for (where_, plugin) in [
            ("on a machine that has nothing of what it looks for", wide),
            ("where nothing that it asks for is granted", denied),
        ] {
            let mut first = self.trial(plugin).await?;
            let outcome = first.check(Trigger::Scheduled).await;
            self.answers(points, where_, &outcome);
            let mut second = self.trial(plugin).await?;
            let again = second.check(Trigger::Scheduled).await;
            points.require(
                same(&outcome, &again),
                &format!("{name}: gives the same report for the same inputs, {where_}"),
                || {
                    format!(
                        "{name}: the same inputs gave two reports, {where_}: {:?} and {:?}",
                        outcome.report, again.report
                    )
                },
            );
            self.room(points, where_, &outcome, plugin.limits());
        }
        if wide.watches_kmsg() && !self.described.without_kmsg_watcher {
            self.log(points, wide).await?;
        }
        Ok(())
    }

    fn answers(&self, points: &mut Points, where_: &str, outcome: &TrialOutcome) {
        let name = &self.described.name;
        match &outcome.report {
            Ok(_) => points.add(Grade::Good, format!("{name}: gives a report {where_}")),
            Err(CallError::Source(source)) => points.add(
                Grade::Good,
                format!("{name}: says honestly {where_} that it cannot judge: {source}"),
            ),
            Err(CallError::Failed(text)) => points.add(
                Grade::Note,
                format!("{name}: blames itself {where_}: it failed: {text}"),
            ),
            Err(error) => points.add(Grade::Bad, format!("{name}: {where_} it {error}")),
        }
        if let Some(problem) = &outcome.problem {
            points.add(Grade::Bad, format!("{name}: {where_}: {problem}"));
        }
    }

    fn room(&self, points: &mut Points, where_: &str, outcome: &TrialOutcome, limits: &Limits) {
        let bill = &outcome.bill;
        let used = [
            ("memory", bill.memory_high_water, limits.memory_bytes),
            ("host calls", bill.host_calls, limits.host_calls),
            ("bytes from the host", bill.bytes, limits.host_bytes),
        ];
        for (what, used, limit) in used {
            let share = used.saturating_mul(100) / limit.max(1);
            if share >= TIGHT {
                points.add(
                    Grade::Note,
                    format!(
                        "{}: uses {share} % of its {what} {where_}; raise it under `limits:` of its entry",
                        self.described.name
                    ),
                );
            }
        }
    }

    async fn log(&self, points: &mut Points, plugin: &Arc<Plugin>) -> Result<(), String> {
        let name = &self.described.name;
        let trial = self.trial(plugin).await?;
        let (patterns, again) = (trial.patterns().await, trial.patterns().await);
        points.require(
            patterns == again,
            &format!("{name}: asks for the same kernel messages each time"),
            || format!("{name}: its kernel log patterns are different from time to time"),
        );
        let patterns = match patterns {
            Ok(patterns) => patterns,
            Err(problem) => {
                points.add(Grade::Bad, format!("{name}: {problem}"));
                return Ok(());
            }
        };
        match trial.hear(&nonsense(&patterns)).await {
            Ok(heard) => points.add(
                Grade::Good,
                format!(
                    "{name}: took {} nonsensical kernel messages and made {} events of them",
                    heard.matched,
                    heard.events.len()
                ),
            ),
            Err(problem) => points.add(
                Grade::Bad,
                format!("{name}: nonsense in the kernel log: {problem}"),
            ),
        }
        Ok(())
    }

    async fn trial(&self, plugin: &Arc<Plugin>) -> Result<Trial, String> {
        let config = self.config.to_string().into();
        Trial::new(
            Arc::clone(plugin),
            self.described.clone(),
            config,
            Arc::clone(self.node),
        )
        .await
        .map_err(|error| error.to_string())
    }
}

async fn load(
    file: &ComponentFile,
    runtime: &Runtime,
    grants: Grants,
) -> Result<Arc<Plugin>, String> {
    let loaded = file.load(runtime, grants, Limits::default()).await;
    loaded.map_err(|error| error.to_string())
}

/// Grants that leave nothing out of what a made-up machine has.
fn wide(interfaces: &[Interface]) -> Result<Grants, crate::capability::GrantError> {
    let grant = |interface: &Interface| {
        let value = match interface {
            Interface::Sysfs => json!(["/**"]),
            Interface::Exec => json!("bash"),
            Interface::Net => json!({}),
            _ => json!(true),
        };
        (interface.word().to_owned(), value)
    };
    Grants::parse(&Value::Object(interfaces.iter().map(grant).collect()))
}

fn same(first: &TrialOutcome, second: &TrialOutcome) -> bool {
    match (&first.report, &second.report) {
        (Ok(first), Ok(second)) => first == second,
        (Err(first), Err(second)) => first == second,
        _ => false,
    }
}

/// Messages that patterns let through and that mean nothing: what is plain in a pattern, cut short, followed by what no
/// driver writes.
fn nonsense(patterns: &[String]) -> Vec<Arc<KernelMessage>> {
    let mut texts = vec![String::new(), "\\x00\\xff".to_owned(), "a".repeat(4096)];
    for pattern in patterns {
        let plain: String = pattern
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || " _-:,/=()".contains(*c))
            .collect();
        let literal = pattern.replace('\\', "");
        for stem in [plain, literal] {
            for tail in [
                "",
                ": ",
                " 99999999999999999999999999",
                " -1, \u{fffd}\\x1b[2J",
                ": ,,,;;;(((",
            ] {
                texts.push(format!("{stem}{tail}"));
            }
            let half = stem.chars().count() / 2;
            texts.push(stem.chars().take(half).collect());
            texts.push(format!("{stem} {}", "9".repeat(4000)));
        }
    }
    texts
        .into_iter()
        .enumerate()
        .map(|(at, text)| {
            Arc::new(KernelMessage {
                sequence: at as u64,
                time: NOW - 1000,
                monotonic_micros: (HOUR - 1000) * 1000,
                level: 3,
                facility: 0,
                text,
                dictionary: Vec::new(),
                fragment: false,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_reaches_plain_patterns() {
        let patterns = ["NVRM: Xid".to_owned(), r"mlx5_core .*: Port \d+".to_owned()];
        let messages = nonsense(&patterns);
        let reached = |text: &str| messages.iter().filter(|m| m.text.contains(text)).count();
        assert!(reached("NVRM: Xid") >= 10);
        assert!(messages.iter().all(|message| message.text.len() < 8192));
    }

    #[tokio::test]
    async fn the_built_in_checkers_keep_to_the_contract() {
        let (_cache, compilation) = Compilation::of_test();
        for builtin in crate::component::builtin::all() {
            // The components of code that they are in: those that read the log, files, NVML, and that run programs.
            if !["cpu", "accelerator-nvidia-error-xid"].contains(&builtin.component) {
                continue;
            }
            let file = ComponentFile {
                path: builtin.folder.into(),
                bytes: builtin.unpack().unwrap(),
            };
            let points = points(&file, &json!({}), &compilation).await.unwrap();
            let bad: Vec<_> = points.iter().filter(|p| p.grade == Grade::Bad).collect();
            assert!(bad.is_empty(), "{}: {bad:?}", builtin.component);
            assert!(points.len() > 5, "{points:?}");
        }
    }

    #[tokio::test]
    async fn a_file_that_is_no_component_is_reported() {
        let file = ComponentFile {
            path: "x".into(),
            bytes: b"\x7fELF".to_vec(),
        };
        let (_cache, compilation) = Compilation::of_test();
        let points = points(&file, &json!({}), &compilation).await.unwrap();
        assert_eq!(points.len(), 1);
        assert_eq!(points[0].grade, Grade::Bad);
        assert!(points[0].text.contains("does not begin like WebAssembly"));
    }
}
