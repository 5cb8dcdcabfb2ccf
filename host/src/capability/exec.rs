//! `exec`: programs of the machine, each in a process group that ends with its run.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Call, ExecGrant,
    wire::{
        exec::{Host, Options, Output},
        types::AccessError,
    },
};
use crate::node::process::{self, Command, Env, Program};

/// Most bytes kept of each output stream.
const MAX_OUTPUT: u32 = 4 * 1024 * 1024;
/// Largest script or argument list, bytes.
const MAX_SCRIPT: usize = 1024 * 1024;

impl Host for Call {
    async fn run_bash(&mut self, script: String, options: Options) -> Result<Output, AccessError> {
        let grants = self.enter("exec.run-bash")?;
        if grants.exec != Some(ExecGrant::Bash) {
            return Err(AccessError::Denied(
                "exec.run-bash: not granted; add to grants: `exec: bash`".to_owned(),
            ));
        }
        bounded("exec.run-bash", script.len())?;
        if let Some(canned) = self.node.canned() {
            let output = canned.run("bash", &[])?;
            return self.handed_over(output);
        }
        self.run(Program::BashStdin(script.into_bytes()), options)
            .await
    }

    async fn run_program(
        &mut self,
        program: String,
        arguments: Vec<String>,
        options: Options,
    ) -> Result<Output, AccessError> {
        let grants = self.enter("exec.run-program")?;
        bounded("exec.run-program", arguments.iter().map(String::len).sum())?;
        if let Some(canned) = self.node.canned().cloned() {
            if !names_program(grants.exec.as_ref(), &program) {
                return Err(not_granted(Path::new(&program)));
            }
            return self.handed_over(canned.run(&program, &arguments)?);
        }
        let replacement = self.node.replacement(&program).map(str::to_owned);
        let path = match replacement {
            // The program itself need not be there.
            Some(_) => PathBuf::from(&program),
            None => process::find_program(&program).await?,
        };
        let granted = match &grants.exec {
            Some(ExecGrant::Bash) => true,
            Some(ExecGrant::Programs(names)) => {
                names.contains(&program) || names.iter().any(|name| Path::new(name) == path)
            }
            None => false,
        };
        if !granted {
            return Err(not_granted(&path));
        }
        if let Some(mut line) = replacement {
            for argument in &arguments {
                line.push(' ');
                line.push_str(&quoted(argument));
            }
            line.push('\n');
            return self
                .run(Program::BashStdin(line.into_bytes()), options)
                .await;
        }
        let argv = std::iter::once(path.into()).chain(arguments.into_iter().map(OsString::from));
        self.run(Program::Argv(argv.collect()), options).await
    }
}

impl Call {
    async fn run(&mut self, program: Program, options: Options) -> Result<Output, AccessError> {
        let asked = Duration::from_millis(u64::from(options.timeout_ms));
        let mut env = process::minimal_env();
        env.extend(
            options
                .environment
                .into_iter()
                .map(|(key, value)| (key.into(), value.into())),
        );
        let command = Command {
            env: Env::Replace(env),
            max_output_bytes: options.max_output_bytes.min(MAX_OUTPUT) as usize,
            ..Command::new(program, asked.min(self.remaining()))
        };
        let output = self.wait(process::run(command)).await?;
        self.handed_over(output)
    }

    fn handed_over(&mut self, output: process::Output) -> Result<Output, AccessError> {
        self.charge("exec", output.stdout.len() + output.stderr.len())?;
        Ok(Output {
            exit_code: output.exit_code,
            signal: output.signal,
            truncated: output.stdout_truncated || output.stderr_truncated,
            stdout: output.stdout,
            stderr: output.stderr,
            duration_ms: u64::try_from(output.duration.as_millis()).unwrap_or(u64::MAX),
        })
    }
}

fn not_granted(path: &Path) -> AccessError {
    AccessError::Denied(format!(
        "exec.run-program: {0} is not granted; add to grants: `exec: [\"{0}\"]`",
        path.display()
    ))
}

/// Whether a program is granted on a machine that has no PATH to look it up in: a name stands for any granted path that
/// ends in it.
fn names_program(granted: Option<&ExecGrant>, program: &str) -> bool {
    match granted {
        Some(ExecGrant::Bash) => true,
        Some(ExecGrant::Programs(names)) => names.iter().any(|name| {
            let last = Path::new(name).file_name();
            name == program || (!program.contains('/') && last.is_some_and(|last| last == program))
        }),
        None => false,
    }
}

/// The text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn bounded(what: &str, size: usize) -> Result<(), AccessError> {
    if size <= MAX_SCRIPT {
        return Ok(());
    }
    Err(AccessError::InvalidArgument(format!(
        "{what}: {size} bytes, more than {MAX_SCRIPT}"
    )))
}
