//! Validates in a child process. What a plugin's schema costs is not seen by looking at it (a pattern, a few references to
//! references, numbers that hash alike), so that it gets a little time and memory of a process of its own.

use std::{io::Read, path::Path, time::Duration};

use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Fault, faults};
use crate::node::process::{self, Command, Program};

/// Name of the hidden command by which gpud validates for itself.
pub const CHILD_COMMAND: &str = "validate-config";
/// Most processor time of the child, seconds. A validation takes less than a millisecond.
const CPU_SECONDS: u64 = 2;
/// Its address space, bytes.
const MEMORY: u64 = 1 << 30;
/// Longest that it may take on a machine that is busy with other things.
const DEADLINE: Duration = Duration::from_secs(60);

/// A configuration, and the schema that it has to fit.
#[derive(Debug, Serialize, Deserialize)]
struct ConfigToValidate {
    schema: Value,
    document: Value,
    most: usize,
}

/// As [`faults`], in a child that `program` is started as. Only what the child says counts: it ends when it has used up its time
/// or memory.
///
/// # Errors
/// As [`faults`]; or the child could not be started.
pub async fn faults_in_child(
    program: &Path,
    schema: Value,
    document: Value,
    most: usize,
) -> Result<Vec<Fault>, String> {
    let question = ConfigToValidate {
        schema,
        document,
        most,
    };
    let stdin = serde_json::to_vec(&question).map_err(|error| error.to_string())?;
    let argv = [program.as_os_str(), CHILD_COMMAND.as_ref()];
    let command = Command {
        stdin,
        ..Command::new(Program::Argv(argv.map(Into::into).into()), DEADLINE)
    };
    let ended = process::run(command)
        .await
        .map_err(|error| error.to_string())?;
    match ended.exit_code {
        Some(0) => serde_json::from_slice(&ended.stdout).map_err(|error| error.to_string()),
        Some(_) => Err(String::from_utf8_lossy(&ended.stderr).trim().to_owned()),
        None => Err(format!(
            "it takes more than {CPU_SECONDS} s, or more than {} MiB, to validate with it",
            MEMORY >> 20
        )),
    }
}

/// Answers the question on stdin, in the child, which bounds itself first. Returns the faults as JSON.
///
/// # Errors
/// In words for the operator.
pub fn child_main(stdin: impl Read) -> Result<String, String> {
    for (resource, most) in [
        (Resource::Cpu, CPU_SECONDS),
        (Resource::As, MEMORY),
        (Resource::Core, 0),
    ] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit).map_err(|error| format!("bounding itself: {error}"))?;
    }
    let question: ConfigToValidate =
        serde_json::from_reader(stdin).map_err(|error| error.to_string())?;
    let found = faults(&question.schema, &question.document, question.most)?;
    serde_json::to_string(&found).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use serde_json::json;

    use super::*;

    /// A child that does this in place of gpud.
    async fn child(script: &str) -> Result<Vec<Fault>, String> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        faults_in_child(&program, json!({}), json!({}), 10).await
    }

    #[tokio::test]
    async fn only_what_the_child_says_counts() {
        let said = r#"test "$1" = validate-config && grep -q '"most":10' && echo '[{"pointer":"/a","text":"b"}]'"#;
        let fault = Fault {
            pointer: "/a".to_owned(),
            text: "b".to_owned(),
        };
        assert_eq!(child(said).await, Ok(vec![fault]));
        assert_eq!(child("echo '[]'").await, Ok(vec![]));
        assert_eq!(child("echo no >&2; exit 1").await, Err("no".to_owned()));
        for end in ["kill -XCPU $$", "kill -SEGV $$", "kill -ABRT $$"] {
            assert!(child(end).await.unwrap_err().contains("more than 2 s"));
        }
        for nonsense in ["exit 0", "echo 5", "echo '[{}]'"] {
            child(nonsense).await.unwrap_err();
        }
    }
}
