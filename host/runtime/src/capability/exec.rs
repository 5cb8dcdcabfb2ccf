//! `exec`: programs of the machine, each in a process group that ends with its run.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Call, ExecGrant,
    environment::is_refused,
    exec_grant::GrantDecision,
    wire::{
        exec::{Host, Options, Output},
        types::AccessError,
    },
};
use crate::node::{
    process::{self, Command, Env, Program},
    root_helper,
};

/// Most bytes of each output stream that are returned.
const MAX_OUTPUT: u32 = 4 * 1024 * 1024;
/// Largest script or argument list, bytes.
const MAX_SCRIPT: usize = 1024 * 1024;

impl Host for Call {
    async fn run_bash(&mut self, script: String, options: Options) -> Result<Output, AccessError> {
        let grants = self.enter("exec.run-bash")?;
        let granted = grants.exec.as_ref().filter(|granted| granted.is_bash());
        let Some(granted) = granted else {
            return Err(AccessError::Denied(
                "exec.run-bash: not granted; add to grants: `exec: bash`".to_owned(),
            ));
        };
        bounded("exec.run-bash", script.len())?;
        check_environment("exec.run-bash", granted, &options)?;
        if let Some(canned) = self.node.canned() {
            let output = canned.run("bash", &[])?;
            return self.handed_over(output);
        }
        self.run(Program::BashStdin(script.into_bytes()), options, false)
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
        let nothing = ExecGrant::nothing();
        let granted = grants.exec.as_ref().unwrap_or(&nothing);
        if let Some(canned) = self.node.canned() {
            let verdict = granted.verdict_by_name(&program, &arguments);
            check_verdict(verdict, Path::new(&program))?;
            check_environment("exec.run-program", granted, &options)?;
            return self.handed_over(canned.run(&program, &arguments)?);
        }
        let replacement = self.node.replacement(&program).map(str::to_owned);
        let path = match replacement {
            // The program itself need not be there.
            Some(_) => PathBuf::from(&program),
            None => process::find_program(&program).await?,
        };
        check_verdict(granted.verdict(&program, &path, &arguments), &path)?;
        check_environment("exec.run-program", granted, &options)?;
        if let Some(mut line) = replacement {
            for argument in &arguments {
                line.push(' ');
                line.push_str(&quoted(argument));
            }
            line.push('\n');
            return self
                .run(Program::BashStdin(line.into_bytes()), options, false)
                .await;
        }
        let as_root = root_helper::runs_program(&program, &arguments);
        process::check_program(&path).await?;
        let argv = std::iter::once(path.into()).chain(arguments.into_iter().map(OsString::from));
        self.run(Program::Argv(argv.collect()), options, as_root)
            .await
    }
}

impl Call {
    async fn run(
        &mut self,
        program: Program,
        options: Options,
        as_root: bool,
    ) -> Result<Output, AccessError> {
        let asked = Duration::from_millis(u64::from(options.timeout_ms));
        if matches!(program, Program::BashStdin(_)) {
            let bash = process::find_program("bash").await?;
            process::check_program(&bash).await?;
        }
        let mut env = process::fixed_env();
        env.extend(
            options
                .environment
                .into_iter()
                .map(|(key, value)| (key.into(), value.into())),
        );
        let command = Command {
            env: Env::Replace(env),
            contained: true,
            as_root,
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

fn check_verdict(verdict: GrantDecision, path: &Path) -> Result<(), AccessError> {
    let path = path.display();
    match verdict {
        GrantDecision::Granted => Ok(()),
        GrantDecision::NotGranted => Err(AccessError::Denied(format!(
            "exec.run-program: {path} is not granted; add to grants: `exec: [\"{path}\"]`"
        ))),
        GrantDecision::OtherArguments => Err(AccessError::Denied(format!(
            "exec.run-program: {path} is not granted with these arguments; add a list to its `arguments`"
        ))),
    }
}

/// Only variables that the grant lists, and never those of [`is_refused`], even if the grant lists them.
fn check_environment(
    what: &str,
    granted: &ExecGrant,
    options: &Options,
) -> Result<(), AccessError> {
    let variables = &options.environment;
    let size = variables
        .iter()
        .map(|(name, value)| name.len() + value.len());
    bounded(what, size.sum())?;
    for (name, value) in variables {
        if !granted.allows_variable(name) || is_refused(name) {
            return Err(AccessError::Denied(format!(
                "{what}: the environment variable {name:?} is not granted; list it in `env` of the grant `exec`"
            )));
        }
        if value.contains('\0') {
            return Err(AccessError::InvalidArgument(format!(
                "{what}: the value of {name} contains a NUL byte"
            )));
        }
    }
    Ok(())
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
