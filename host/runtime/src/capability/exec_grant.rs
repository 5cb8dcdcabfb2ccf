//! The grant of programs: which may run, with which arguments, and which environment variables a guest may set.
//!
//! ```yaml
//! exec: bash
//! exec: [lsblk, /usr/bin/findmnt]
//! exec: { bash: true, env: [FOLDER] }
//! exec:
//!   programs:
//!     - lsblk
//!     - { path: /usr/bin/ipmitool, arguments: [[sdr], [sel, list, "*"]] }
//!   env: [COLUMNS]
//! ```

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::environment::{check_name, check_name_for_programs};

/// Most programs, most lists of arguments of one, and most variables.
const MAX_ITEMS: usize = 256;

/// Programs that may be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecGrant {
    /// Which.
    pub programs: Programs,
    /// Names of environment variables that the guest may set.
    pub env: Vec<String>,
}

/// The programs that a grant allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Programs {
    /// Bash scripts, and so any program.
    Bash,
    /// These programs only.
    Listed(Vec<GrantedProgram>),
}

/// A program that may be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedProgram {
    /// An absolute path, or a name that is looked up in the system's folders.
    pub path: String,
    /// The lists of arguments that it may get; `None` is any.
    pub arguments: Option<Vec<Vec<String>>>,
}

/// The spelling of a grant as a mapping.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spelled {
    #[serde(default)]
    bash: bool,
    programs: Option<Vec<SpelledProgram>>,
    #[serde(default)]
    env: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SpelledProgram {
    Path(String),
    Bounded(Bounded),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bounded {
    path: String,
    arguments: Option<Vec<Vec<String>>>,
}

impl ExecGrant {
    /// The grant of no program at all.
    pub fn nothing() -> Self {
        Self {
            programs: Programs::Listed(Vec::new()),
            env: Vec::new(),
        }
    }

    /// Reads the value of the key `exec`.
    ///
    /// # Errors
    /// In words, naming the key inside.
    pub fn parse(value: &Value) -> Result<Self, String> {
        let programs = match value {
            Value::String(word) if word == "bash" => Programs::Bash,
            Value::Array(_) => {
                let listed = serde_json::from_value(value.clone()).map_err(|_| {
                    "a program is a path, a name, or { path: …, arguments: [[…]] }".to_owned()
                })?;
                Programs::Listed(programs(listed)?)
            }
            Value::Object(_) => return Self::parse_mapping(value),
            _ => return Err("expected `bash`, a list of programs, or a mapping".to_owned()),
        };
        Ok(Self {
            programs,
            env: Vec::new(),
        })
    }

    fn parse_mapping(value: &Value) -> Result<Self, String> {
        let spelled: Spelled =
            serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        let programs = match (spelled.bash, spelled.programs) {
            (true, None) => Programs::Bash,
            (false, Some(listed)) => Programs::Listed(programs(listed)?),
            _ => return Err("expected either `bash: true` or `programs: […]`".to_owned()),
        };
        if spelled.env.len() > MAX_ITEMS {
            return Err(format!("env: more than {MAX_ITEMS} names"));
        }
        let check = match programs {
            Programs::Bash => check_name,
            Programs::Listed(_) => check_name_for_programs,
        };
        spelled.env.iter().try_for_each(|name| check(name))?;
        Ok(Self {
            programs,
            env: spelled.env,
        })
    }

    /// Whether scripts, and so all programs, are granted.
    pub fn is_bash(&self) -> bool {
        self.programs == Programs::Bash
    }

    /// Whether the guest may set this variable.
    pub fn allows_variable(&self, name: &str) -> bool {
        self.env.iter().any(|granted| granted == name)
    }

    /// Whether a program may run, and with these arguments. `named` is what the guest wrote, `resolved` the file that it
    /// stands for.
    pub fn verdict(&self, named: &str, resolved: &Path, arguments: &[String]) -> GrantDecision {
        self.judge(arguments, |path| {
            path == named || Path::new(path) == resolved
        })
    }

    /// The same on a machine that has no folders to look a name up in: a name means any granted path that ends in
    /// it.
    pub fn verdict_by_name(&self, named: &str, arguments: &[String]) -> GrantDecision {
        self.judge(arguments, |path| {
            let last = Path::new(path).file_name();
            path == named || (!named.contains('/') && last.is_some_and(|last| last == named))
        })
    }

    fn judge(&self, arguments: &[String], is_it: impl Fn(&str) -> bool) -> GrantDecision {
        let listed = match &self.programs {
            Programs::Bash => return GrantDecision::Granted,
            Programs::Listed(listed) => listed,
        };
        let mut verdict = GrantDecision::NotGranted;
        for program in listed.iter().filter(|program| is_it(&program.path)) {
            if program.allows(arguments) {
                return GrantDecision::Granted;
            }
            verdict = GrantDecision::OtherArguments;
        }
        verdict
    }

    /// Whether the other grant surely reaches nothing that this one does not.
    pub fn covers(&self, other: &Self) -> bool {
        let programs = match (&self.programs, &other.programs) {
            (Programs::Bash, _) => true,
            (Programs::Listed(_), Programs::Bash) => false,
            (Programs::Listed(mine), Programs::Listed(theirs)) => theirs
                .iter()
                .all(|program| mine.iter().any(|one| one.covers(program))),
        };
        programs && other.env.iter().all(|name| self.allows_variable(name))
    }
}

/// Whether a grant permits a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantDecision {
    /// It may run.
    Granted,
    /// The program may run, but not with these arguments.
    OtherArguments,
    /// The program may not run.
    NotGranted,
}

impl GrantedProgram {
    fn allows(&self, arguments: &[String]) -> bool {
        let Some(lists) = &self.arguments else {
            return true;
        };
        lists.iter().any(|list| {
            list.len() == arguments.len()
                && list
                    .iter()
                    .zip(arguments)
                    .all(|(granted, word)| word_fits(granted, word))
        })
    }

    fn covers(&self, other: &Self) -> bool {
        if self.path != other.path {
            return false;
        }
        match (&self.arguments, &other.arguments) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(theirs)) => theirs.iter().all(|list| mine.contains(list)),
        }
    }
}

/// Whether a word is the granted one. `*` is any one word that is no option.
fn word_fits(granted: &str, word: &str) -> bool {
    match granted {
        "*" => !word.starts_with('-'),
        granted => granted == word,
    }
}

fn programs(spelled: Vec<SpelledProgram>) -> Result<Vec<GrantedProgram>, String> {
    if spelled.len() > MAX_ITEMS {
        return Err(format!("more than {MAX_ITEMS} programs"));
    }
    spelled.into_iter().map(program).collect()
}

fn program(spelled: SpelledProgram) -> Result<GrantedProgram, String> {
    let (path, arguments) = match spelled {
        SpelledProgram::Path(path) => (path, None),
        SpelledProgram::Bounded(bounded) => (bounded.path, bounded.arguments),
    };
    if path.is_empty() || path.contains('\0') || (path.contains('/') && !path.starts_with('/')) {
        return Err(format!(
            "`{path}` is neither a program's name nor an absolute path"
        ));
    }
    if arguments
        .as_ref()
        .is_some_and(|lists| lists.len() > MAX_ITEMS)
    {
        return Err(format!(
            "`{path}`: more than {MAX_ITEMS} lists of arguments"
        ));
    }
    Ok(GrantedProgram { path, arguments })
}

#[cfg(test)]
mod tests;
