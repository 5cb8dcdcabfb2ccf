//! The keys of an entry and their types.

use super::{
    decode::{Decoder, ITEM_COST},
    names,
    path::Step as Down,
    scalar::Typed,
    tree::{Node, Value},
    wasm,
};
use crate::wire::{
    ActionRules, HealthStatePlugin, JsonPath, MatchRule, OutputParser, PluginSpec, RunBashScript,
    Step,
};

/// Keys of an entry.
pub(super) const SPEC_KEYS: &[&str] = &[
    "plugin_name",
    "plugin_type",
    "run_mode",
    "tags",
    "timeout",
    "interval",
    "health_state_plugin",
    "component_list",
    "component_list_file",
];
/// Keys that only a Wasm entry has.
pub(super) const WASM_KEYS: &[&str] = &["path", "config", "grants", "limits", "shadow"];

impl Decoder<'_> {
    /// A script entry. Null is an entry with every field empty.
    pub fn script_entry(&mut self, node: &Node<'_>) -> PluginSpec {
        if !self.mapping(
            node,
            "customplugins.Spec",
            SPEC_KEYS,
            "a plugin, a mapping,",
        ) {
            return PluginSpec::default();
        }
        PluginSpec {
            health_state_plugin: self.optional(node, "health_state_plugin", Self::state_plugin),
            component_list: self.texts(node, "component_list"),
            component_list_file: self.text(node, "component_list_file"),
            ..self.common(node)
        }
    }

    /// The keys that every type has.
    pub fn common(&mut self, node: &Node<'_>) -> PluginSpec {
        PluginSpec {
            plugin_name: self.text(node, "plugin_name"),
            plugin_type: self.text(node, "plugin_type"),
            run_mode: self.text(node, "run_mode"),
            tags: self.texts(node, "tags"),
            timeout: self.duration(node, "timeout"),
            interval: self.duration(node, "interval"),
            ..PluginSpec::default()
        }
    }

    fn state_plugin(&mut self, node: &Node<'_>) -> HealthStatePlugin {
        let keys = &["steps", "parser"];
        if !self.mapping(node, "customplugins.HealthStatePlugin", keys, "a mapping") {
            return HealthStatePlugin::default();
        }
        HealthStatePlugin {
            steps: self.list(node, "steps", "customplugins.Step", Self::step),
            parser: self.optional(node, "parser", Self::parser),
        }
    }

    fn step(&mut self, node: &Node<'_>) -> Step {
        let keys = &["name", "run_bash_script"];
        if !self.mapping(node, "customplugins.Step", keys, "a step, a mapping,") {
            return Step::default();
        }
        Step {
            name: self.text(node, "name"),
            run_bash_script: self.optional(node, "run_bash_script", Self::script),
        }
    }

    fn script(&mut self, node: &Node<'_>) -> RunBashScript {
        let keys = &["content_type", "script"];
        if !self.mapping(node, "customplugins.RunBashScript", keys, "a mapping") {
            return RunBashScript::default();
        }
        RunBashScript {
            content_type: self.text(node, "content_type"),
            script: self.text(node, "script"),
        }
    }

    fn parser(&mut self, node: &Node<'_>) -> OutputParser {
        let keys = &["json_paths", "log_path"];
        if !self.mapping(
            node,
            "customplugins.PluginOutputParseConfig",
            keys,
            "a mapping",
        ) {
            return OutputParser::default();
        }
        OutputParser {
            json_paths: self.list(
                node,
                "json_paths",
                "customplugins.JSONPath",
                Self::json_path,
            ),
            log_path: self.text(node, "log_path"),
        }
    }

    fn json_path(&mut self, node: &Node<'_>) -> JsonPath {
        let keys = &["query", "field", "expect", "suggested_actions"];
        if !self.mapping(node, "customplugins.JSONPath", keys, "a mapping") {
            return JsonPath::default();
        }
        JsonPath {
            query: self.text(node, "query"),
            field: self.text(node, "field"),
            expect: self.optional(node, "expect", Self::rule),
            suggested_actions: self.actions(node),
        }
    }

    fn rule(&mut self, node: &Node<'_>) -> MatchRule {
        if !self.mapping(node, "customplugins.MatchRule", &["regex"], "a mapping") {
            return MatchRule::default();
        }
        MatchRule {
            regex: self.optional_text(node, "regex"),
        }
    }

    fn actions(&mut self, node: &Node<'_>) -> ActionRules {
        const KEY: &str = "suggested_actions";
        let Some(value) = node.get(KEY).filter(|value| !value.is_null()) else {
            return ActionRules::default();
        };
        self.down(Down::Key(KEY), |this| {
            let Value::Mapping(_) = value.value else {
                let wanted = "map[string]customplugins.MatchRule";
                this.mismatch(value, wanted, "a mapping from action names to rules");
                return ActionRules::default();
            };
            let mut rules = Vec::new();
            this.members(value, &mut |this, name, value| {
                if !this.charge(value, ITEM_COST + name.len()) {
                    return;
                }
                let rule = this.down(Down::Name(name.clone()), |this| this.rule(value));
                rules.push((name, rule));
            });
            rules.into_iter().collect()
        })
    }
}

/// The name of an entry, if it has one that can be read.
pub(super) fn plugin_name(node: &Node<'_>) -> Option<String> {
    let name = node.get("plugin_name")?.typed()?.text()?;
    let end = name.floor_char_boundary(names::MAX_PLUGIN_NAME_BYTES);
    name.get(..end).map(str::to_owned)
}

/// Whether an entry says that it is a Wasm component.
pub(super) fn is_wasm(node: &Node<'_>) -> bool {
    let kind = node.get("plugin_type").and_then(|value| value.typed());
    kind.and_then(Typed::text).as_deref() == Some(wasm::TYPE)
}
