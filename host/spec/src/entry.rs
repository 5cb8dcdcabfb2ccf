//! The keys of an entry and their types.

use super::{
    decode::{Decoder, ITEM_COST},
    names,
    path::Step as Down,
    problem::ProblemKind,
    scalar::Typed,
    tree::{Node, Value},
    wasm,
};
use crate::{
    script::{jsonpath::StandardQuery, pattern::Pattern, query::Query},
    wire::{
        ActionRules, HealthStatePlugin, JsonPath, MatchRule, OutputParser, PluginSpec,
        QueryLanguage, RunBashScript, Step,
    },
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
            run_mode: self.run_mode(node),
            tags: self.texts(node, "tags"),
            timeout: self.duration(node, "timeout"),
            interval: self.duration(node, "interval"),
            ..PluginSpec::default()
        }
    }

    /// Any word but `manual` means automatic, as in GPUd; one that is neither is most likely a mistake.
    fn run_mode(&mut self, node: &Node<'_>) -> String {
        const KEY: &str = "run_mode";
        let word = self.text(node, KEY);
        if !matches!(word.as_str(), "" | "auto" | "manual") {
            let place = node.get(KEY).map_or(node.place, |value| value.place);
            let message = format!("unknown run mode: {word}");
            let note = "it means auto; one of auto, manual".to_owned();
            self.down(Down::Key(KEY), |this| {
                this.warning(place, ProblemKind::UnknownRunMode, message, note);
            });
        }
        word
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
        let keys = &["json_paths", "log_path", "query_language"];
        if !self.mapping(
            node,
            "customplugins.PluginOutputParseConfig",
            keys,
            "a mapping",
        ) {
            return OutputParser::default();
        }
        // The queries are checked as they are read.
        self.query_language = self.language(node);
        OutputParser {
            query_language: self.query_language,
            json_paths: self.list(
                node,
                "json_paths",
                "customplugins.JSONPath",
                Self::json_path,
            ),
            log_path: self.text(node, "log_path"),
        }
    }

    fn language(&mut self, node: &Node<'_>) -> QueryLanguage {
        const KEY: &str = "query_language";
        let Some(word) = self.optional_text(node, KEY) else {
            return QueryLanguage::Gpud;
        };
        match word.as_str() {
            "gpud" | "" => QueryLanguage::Gpud,
            "jsonpath" => QueryLanguage::Jsonpath,
            other => {
                let message = format!("unknown query language: {other}");
                let note = "one of gpud (GPUd's dialect, the default), jsonpath (RFC 9535)";
                let place = node.get(KEY).map_or(node.place, |value| value.place);
                self.down(Down::Key(KEY), |this| {
                    this.problem(
                        place,
                        ProblemKind::UnknownQueryLanguage,
                        message,
                        Some(note.to_owned()),
                    );
                });
                QueryLanguage::Gpud
            }
        }
    }

    /// Says what is wrong with a query. In GPUd's dialect that is a warning, since GPUd loads such a spec and says it in
    /// each check.
    fn check_query(&mut self, node: &Node<'_>, query: &str) {
        const KEY: &str = "query";
        let (problem, language) = match self.query_language {
            QueryLanguage::Gpud => (
                Query::parse(query).err().map(|error| error.to_string()),
                "gpud",
            ),
            QueryLanguage::Jsonpath => (
                StandardQuery::parse(query)
                    .err()
                    .map(|error| error.to_string()),
                "jsonpath",
            ),
        };
        let Some(problem) = problem else { return };
        let place = node.get(KEY).map_or(node.place, |value| value.place);
        let message = format!("the query does not compile (language {language}): {problem}");
        let strict = self.query_language == QueryLanguage::Jsonpath;
        self.down(Down::Key(KEY), |this| {
            if strict {
                this.problem(place, ProblemKind::InvalidQuery, message, None);
            } else {
                let note = "each check will fail with this".to_owned();
                this.warning(place, ProblemKind::InvalidQuery, message, note);
            }
        });
    }

    fn json_path(&mut self, node: &Node<'_>) -> JsonPath {
        let keys = &["query", "field", "expect", "suggested_actions"];
        if !self.mapping(node, "customplugins.JSONPath", keys, "a mapping") {
            return JsonPath::default();
        }
        let query = self.text(node, "query");
        self.check_query(node, &query);
        JsonPath {
            query,
            field: self.text(node, "field"),
            expect: self.optional(node, "expect", Self::rule),
            suggested_actions: self.actions(node),
        }
    }

    fn rule(&mut self, node: &Node<'_>) -> MatchRule {
        if !self.mapping(node, "customplugins.MatchRule", &["regex"], "a mapping") {
            return MatchRule::default();
        }
        let regex = self.optional_text(node, "regex");
        if let Some(error) = regex
            .as_deref()
            .and_then(|text| Pattern::compile(text).err())
        {
            let place = node.get("regex").map_or(node.place, |value| value.place);
            let message = format!("the regular expression does not compile: {error}");
            let note = "a check that compares a value with it fails".to_owned();
            self.down(Down::Key("regex"), |this| {
                this.warning(place, ProblemKind::InvalidPattern, message, note);
            });
        }
        MatchRule { regex }
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

/// Returns whether an entry is declared as a Wasm component.
pub(super) fn is_wasm(node: &Node<'_>) -> bool {
    let kind = node.get("plugin_type").and_then(|value| value.typed());
    kind.and_then(Typed::text).as_deref() == Some(wasm::TYPE)
}
