//! A file of test cases: machines that are made up, and what a component is to say of them.
//!
//! ```yaml
//! spec: ../plugin.yaml            # whose first Wasm entry has component, grants and config; or name them here
//! cases:
//!   - name: a fan that stands still
//!     node: nodes/one-fan         # a folder that stands for /
//!     files: { /sys/class/hwmon/hwmon0/fan2_input: "0\n" }
//!     expect: { health: Degraded, states: [{ reason: { contains: fan2 } }] }
//! ```

use std::{collections::BTreeMap, path::PathBuf};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    answers::{self, Pages, Program},
    expect::Expect,
};
use crate::{node::simulated::Canned, wire::GoDuration};

/// Largest file, bytes.
pub(crate) const MAX_BYTES: usize = 4 << 20;
/// Most cases of a file, and most steps of a case.
const MAX_ITEMS: usize = 1000;
/// What time it is where a case does not say: 2026-01-01T00:00:00Z.
const NOW: u64 = 1_767_225_600_000;

/// The file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseFile {
    /// A spec file; its first Wasm entry gives what is not said here.
    pub(crate) spec: Option<PathBuf>,
    /// The component's file.
    pub(crate) component: Option<PathBuf>,
    /// Which of its components; the first without.
    pub(crate) component_name: Option<String>,
    /// What it may reach.
    pub(crate) grants: Option<Map<String, Value>>,
    /// Its configuration.
    pub(crate) config: Option<Map<String, Value>>,
    /// The cases.
    pub(crate) cases: Vec<Case>,
}

/// One case: a machine, and one step or several.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// For people; unique in the file.
    pub(crate) name: String,
    /// A folder that stands for `/`; an empty one without.
    pub(crate) node: Option<PathBuf>,
    /// What time it is, RFC 3339.
    pub(crate) now: Option<String>,
    /// When the machine booted, RFC 3339; an hour before `now` without.
    pub(crate) booted: Option<String>,
    /// Instead of the file's.
    pub(crate) config: Option<Map<String, Value>>,
    /// Instead of the file's.
    pub(crate) grants: Option<Map<String, Value>>,
    /// What programs print from the start.
    #[serde(default)]
    pub(crate) programs: Vec<Program>,
    /// What services answer from the start: by `unix:/run/x.sock` or `loopback:9100`, then by path.
    #[serde(default)]
    pub(crate) http: Pages,
    /// `host:port` endpoints that take connections from the start.
    #[serde(default)]
    pub(crate) tcp: Vec<String>,
    /// Several steps on one machine, one after another.
    #[serde(default)]
    pub(crate) steps: Vec<Step>,
    /// Of a case with one step: as in a step.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, Option<String>>,
    /// The same.
    #[serde(default)]
    pub(crate) kmsg: Vec<String>,
    /// The same.
    pub(crate) kmsg_file: Option<PathBuf>,
    /// The same.
    pub(crate) expect: Option<Expect>,
}

/// What happens to the machine, and what the component says then.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// How long after the step before, such as `1m`.
    pub(crate) after: Option<String>,
    /// Files that are written over those of the folder, and, where there is no text, removed.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, Option<String>>,
    /// Texts of kernel messages, of level 3 (error) and now.
    #[serde(default)]
    pub(crate) kmsg: Vec<String>,
    /// A saved kernel log: of dmesg, journalctl -k, /dev/kmsg or syslog.
    pub(crate) kmsg_file: Option<PathBuf>,
    /// What programs print from now on, before what they printed until now.
    #[serde(default)]
    pub(crate) programs: Vec<Program>,
    /// What services answer from now on; other pages stay.
    #[serde(default)]
    pub(crate) http: Pages,
    /// All endpoints that take connections from now on.
    pub(crate) tcp: Option<Vec<String>>,
    /// What the component is to say.
    pub(crate) expect: Expect,
}

impl CaseFile {
    /// Reads the YAML of a file and checks what can be checked without a machine.
    ///
    /// # Errors
    /// In words, with the place where YAML has one.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let file: Self = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
        if file.cases.is_empty() {
            return Err("there is no case in it".to_owned());
        }
        if file.cases.len() > MAX_ITEMS {
            return Err(format!("{} cases, more than {MAX_ITEMS}", file.cases.len()));
        }
        let mut names = std::collections::BTreeSet::new();
        for case in &file.cases {
            case.check()
                .map_err(|problem| format!("case {:?}: {problem}", case.name))?;
            if !names.insert(&case.name) {
                return Err(format!("two cases are called {:?}", case.name));
            }
        }
        Ok(file)
    }
}

impl Case {
    fn check(&self) -> Result<(), String> {
        let own = self.expect.is_some()
            || !self.files.is_empty()
            || !self.kmsg.is_empty()
            || self.kmsg_file.is_some();
        match (self.steps.is_empty(), own) {
            (true, _) if self.expect.is_none() => {
                return Err("it expects nothing: it needs `expect` or `steps`".to_owned());
            }
            (false, true) => {
                return Err(
                    "it has `steps`, so files, kernel messages and `expect` belong into them"
                        .to_owned(),
                );
            }
            _ => {}
        }
        if self.steps.len() > MAX_ITEMS {
            return Err(format!("{} steps, more than {MAX_ITEMS}", self.steps.len()));
        }
        self.now_ms()?;
        self.booted_ms()?;
        for step in self.steps() {
            step.after_ms()?;
            step.expect.check()?;
        }
        Ok(())
    }

    /// Its steps; a case without any is one itself.
    pub(crate) fn steps(&self) -> Vec<Step> {
        match &self.expect {
            Some(expect) if self.steps.is_empty() => vec![Step {
                after: None,
                files: self.files.clone(),
                kmsg: self.kmsg.clone(),
                kmsg_file: self.kmsg_file.clone(),
                programs: Vec::new(),
                http: Pages::new(),
                tcp: None,
                expect: expect.clone(),
            }],
            _ => self.steps.clone(),
        }
    }

    /// When it begins, Unix milliseconds.
    ///
    /// # Errors
    /// Not a time.
    pub(crate) fn now_ms(&self) -> Result<u64, String> {
        self.now.as_deref().map_or(Ok(NOW), time)
    }

    /// When its machine booted.
    ///
    /// # Errors
    /// Not a time.
    pub(crate) fn booted_ms(&self) -> Result<u64, String> {
        match self.booted.as_deref() {
            Some(text) => time(text),
            None => Ok(self.now_ms()?.saturating_sub(3_600_000)),
        }
    }

    /// What answers in place of programs and services from the start.
    pub(crate) fn canned(&self) -> Canned {
        let mut canned = Canned::default();
        answers::change(&mut canned, &self.programs, &self.http, Some(&self.tcp));
        canned
    }
}

impl Step {
    /// Changes what answers in place of programs and services.
    pub(crate) fn change(&self, canned: &mut Canned) {
        answers::change(canned, &self.programs, &self.http, self.tcp.as_ref());
    }

    /// How long after the step before, milliseconds.
    ///
    /// # Errors
    /// Not a duration.
    pub(crate) fn after_ms(&self) -> Result<u64, String> {
        let Some(text) = &self.after else {
            return Ok(0);
        };
        let duration: GoDuration = text
            .parse()
            .map_err(|_| format!("after: {text:?} is no duration such as 1m30s"))?;
        u64::try_from(duration.as_millis()).map_err(|_| format!("after: {text:?} is negative"))
    }
}

fn time(text: &str) -> Result<u64, String> {
    let at: Timestamp = text
        .parse()
        .map_err(|_| format!("{text:?} is no time such as 2026-01-01T00:00:00Z"))?;
    u64::try_from(at.as_millisecond()).map_err(|_| format!("{text:?} is before 1970"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_case_is_one_step_or_has_some() {
        let file = CaseFile::parse(
            "component: x.wasm\ncases:\n- name: one\n  files: {/a: b, /c: null}\n  expect: {health: Healthy}\n- name: two\n  \
             now: 2026-02-03T04:05:06Z\n  steps:\n  - expect: {}\n  - {after: 1m, kmsg: [boom], expect: {health: Degraded}}\n",
        )
        .unwrap();
        assert_eq!(file.cases[0].steps().len(), 1);
        assert_eq!(file.cases[0].steps()[0].files["/c"], None);
        assert_eq!(file.cases[0].now_ms(), Ok(NOW));
        assert_eq!(file.cases[1].now_ms(), Ok(1_770_091_506_000));
        assert_eq!(file.cases[1].booted_ms(), Ok(1_770_087_906_000));
        assert_eq!(file.cases[1].steps()[1].after_ms(), Ok(60_000));
    }

    #[test]
    fn mistakes_are_reported() {
        for (text, expected) in [
            ("cases: []", "there is no case"),
            ("cases:\n- name: a\n", "it expects nothing"),
            (
                "cases:\n- name: a\n  expect: {}\n- name: a\n  expect: {}\n",
                "two cases are called \"a\"",
            ),
            (
                "cases:\n- name: a\n  expect: {}\n  steps: [{expect: {}}]\n",
                "belong into them",
            ),
            ("cases:\n- name: a\n  exept: {}\n", "exept"),
            (
                "cases:\n- name: a\n  now: soon\n  expect: {}\n",
                "\"soon\" is no time",
            ),
            (
                "cases:\n- name: a\n  steps: [{after: soon, expect: {}}]\n",
                "\"soon\" is no duration",
            ),
            ("cases:\n- name: a\n  expect: {health: Fine}\n", "\"Fine\""),
            (
                "cases:\n- name: a\n  expect: {states: [{reason: {matches: '('}}]}\n",
                "reason",
            ),
            ("[1", ""),
        ] {
            let error = CaseFile::parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_cases_or_an_error(text in "(cases|steps|expect|name|after|files|[-:{}\\[\\] \n\"a1]){0,40}") {
            let _ = CaseFile::parse(&text);
        }
    }
}
