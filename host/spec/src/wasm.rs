//! Entries of type `wasm`: a component of its own instead of scripts. GPUd has no such entries, so nothing is lenient:
//! an unknown key or a value that does not fit is a problem.

use super::{
    decode::Decoder,
    entry::WASM_KEYS,
    json::ValuePositions,
    path::Step as Down,
    problem::{Position, ProblemKind},
    scalar::Typed,
    tree::{Node, Value},
};
use crate::wire::{LimitOverrides, PluginSpec, ShadowSpec, WasmSpec};

/// The `plugin_type`.
pub(super) const TYPE: &str = "wasm";

const KEYS: &[&str] = &[
    "plugin_name",
    "plugin_type",
    "run_mode",
    "tags",
    "timeout",
    "interval",
    "path",
    "config",
    "grants",
    "limits",
    "shadow",
    // What `/v1/plugins` says of an entry: it can be sent back as it came.
    "running_version",
];
const SHADOW_KEYS: &[&str] = &["path", "grants", "config"];

/// Smallest and largest `memory`, bytes.
const MEMORY: (u64, u64) = (1 << 20, 1 << 30);
/// Smallest and largest value of the other limits: up to 100 times the default of `runtime::Limits`.
const COUNTS: &[(&str, u64, u64)] = &[
    ("memory", MEMORY.0, MEMORY.1),
    ("host_calls", 1, 1_000_000),
    ("host_bytes", 1, 100 * (32 << 20)),
    ("log_lines", 1, 6_400),
    ("states", 1, 25_600),
    ("events", 1, 102_400),
    ("metrics", 1, 409_600),
    ("table_elements", 1, 10_000_000),
];

/// The positions of a Wasm entry's values, for problems that are only found once the component is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WasmEntry {
    config: ValuePositions,
    grants: ValuePositions,
    shadow: Position,
}

impl WasmEntry {
    /// Returns the position of the value that a JSON pointer names inside `config`, or of the nearest one around it.
    pub fn config_place(&self, pointer: &str) -> Position {
        self.config.at(pointer)
    }

    /// Returns the position of the value that a JSON pointer names inside `grants`, or of the nearest one around it.
    pub fn grants_place(&self, pointer: &str) -> Position {
        self.grants.at(pointer)
    }

    /// Returns the position of `shadow`, or of the entry where there is none.
    pub fn shadow_place(&self) -> Position {
        self.shadow
    }
}

impl Decoder<'_> {
    /// A Wasm entry.
    pub fn wasm_entry(&mut self, node: &Node<'_>) -> (PluginSpec, WasmEntry) {
        debug_assert!(WASM_KEYS.iter().all(|key| KEYS.contains(key)));
        self.check_keys(node, KEYS, Some(ProblemKind::WasmUnknownKey));
        let common = self.common(node);
        let path = self.optional_text(node, "path").unwrap_or_default();
        if path.is_empty() {
            let note =
                "name the component's file: absolute, or relative to the folder of this file";
            let message = "path is required for plugin_type wasm";
            self.problem(
                node.place,
                ProblemKind::WasmPathRequired,
                message,
                Some(note.to_owned()),
            );
        }
        let (config, config_places) = self.free_mapping(node, "config");
        let (grants, grants_places) = self.free_mapping(node, "grants");
        let limits = self.limits(node);
        let shadow = self.shadow(node);
        let spec = PluginSpec {
            wasm: Some(WasmSpec {
                path,
                config,
                grants,
                limits,
                shadow,
                running_version: None,
                not_applicable: Default::default(),
            }),
            ..common
        };
        let places = WasmEntry {
            config: config_places,
            grants: grants_places,
            shadow: node.get("shadow").map_or(node.place, |value| value.place),
        };
        (spec, places)
    }

    /// A path, or a mapping with one.
    fn shadow(&mut self, node: &Node<'_>) -> Option<ShadowSpec> {
        let value = node.get("shadow").filter(|value| !value.is_null())?;
        let shadow = match value.value {
            Value::Mapping(_) => self.down(Down::Key("shadow"), |this| {
                this.check_keys(value, SHADOW_KEYS, Some(ProblemKind::WasmUnknownKey));
                let given = |key| value.get(key).is_some_and(|value| !value.is_null());
                ShadowSpec {
                    path: this.optional_text(value, "path").unwrap_or_default(),
                    grants: given("grants").then(|| this.free_mapping(value, "grants").0),
                    config: given("config").then(|| this.free_mapping(value, "config").0),
                }
            }),
            _ => ShadowSpec {
                path: self.optional_text(node, "shadow").unwrap_or_default(),
                ..ShadowSpec::default()
            },
        };
        if shadow.path.is_empty() {
            let message = "shadow has to name the file of a component";
            let note =
                "shadow: new.wasm, or a mapping with path and, if they differ, grants and config";
            self.problem(
                value.place,
                ProblemKind::WasmPathRequired,
                message,
                Some(note.to_owned()),
            );
        }
        Some(shadow)
    }

    fn limits(&mut self, node: &Node<'_>) -> LimitOverrides {
        let mut limits = LimitOverrides::default();
        let Some(value) = node.get("limits").filter(|value| !value.is_null()) else {
            return limits;
        };
        self.down(Down::Key("limits"), |this| {
            if !matches!(value.value, Value::Mapping(_)) {
                let message = "limits has to be a mapping";
                this.problem(value.place, ProblemKind::WasmValue, message, None);
                return limits;
            }
            let mut keys = [""; COUNTS.len()];
            for (slot, (key, _, _)) in keys.iter_mut().zip(COUNTS) {
                *slot = key;
            }
            this.check_keys(value, &keys, Some(ProblemKind::WasmUnknownKey));
            limits = LimitOverrides {
                memory_bytes: this.limit(value, "memory"),
                host_calls: this.limit(value, "host_calls"),
                host_bytes: this.limit(value, "host_bytes"),
                log_lines: this.limit(value, "log_lines"),
                states: this.limit(value, "states"),
                events: this.limit(value, "events"),
                metrics: this.limit(value, "metrics"),
                table_elements: this.limit(value, "table_elements"),
            };
            limits
        })
    }

    /// One limit within its bounds.
    fn limit<T: TryFrom<u64>>(&mut self, node: &Node<'_>, key: &'static str) -> Option<T> {
        let value = node.get(key).filter(|value| !value.is_null())?;
        let (_, least, most) = *COUNTS.iter().find(|(name, _, _)| *name == key)?;
        let in_bytes = matches!(key, "memory" | "host_bytes");
        self.down(Down::Key(key), |this| {
            let number = match value.typed() {
                Some(Typed::Int(number)) => u64::try_from(number).ok(),
                Some(Typed::Uint(number)) => Some(number),
                Some(Typed::Text(text)) if in_bytes => bytes(text),
                _ => None,
            };
            let fitting = number
                .filter(|number| (least..=most).contains(number))
                .and_then(|number| T::try_from(number).ok());
            if fitting.is_none() {
                let kind = if in_bytes {
                    "bytes, such as 64MiB,"
                } else {
                    "a whole number"
                };
                let message = format!("limits.{key} has to be {kind} from {least} to {most}");
                this.problem(value.place, ProblemKind::WasmLimit, message, None);
            }
            fitting
        })
    }
}

/// `65536`, `64 KiB`, `64MiB`, `1GiB`.
fn bytes(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let scale: u64 = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(scale)
}
