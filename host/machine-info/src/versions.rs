//! The versions that installed programs report.

use std::time::Duration;

use crate::node::{
    error::SourceError,
    process::{self, Command, Program},
};

/// For one program.
const LIMIT: Duration = Duration::from_secs(10);

/// The version of a program on the `PATH`, without a `v`; `None` if it prints none.
///
/// # Errors
/// [`SourceError::NotFound`] if it is not installed; as [`process::run`] otherwise.
pub async fn of(program: &str) -> Result<Option<String>, SourceError> {
    let path = process::find_program(program).await?;
    let command = Command::new(Program::Argv(vec![path.into(), "--version".into()]), LIMIT);
    let output = process::run(command).await?;
    Ok(first_version(&String::from_utf8_lossy(&output.stdout)))
}

/// The first word that begins as `1.2.3` or `v1.2.3`.
fn first_version(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    words.find_map(|word| {
        let version = word.strip_prefix('v').unwrap_or(word);
        let mut parts = version.splitn(3, '.');
        let number = |part: Option<&str>| {
            part.is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
        };
        let patch = |part: Option<&str>| {
            part.is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()))
        };
        let is_version = number(parts.next()) && number(parts.next()) && patch(parts.next());
        is_version.then(|| version.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_output_of_programs() {
        for (text, version) in [
            (
                "containerd github.com/containerd/containerd v1.7.27 05044ec0a9a75232cad458027ca83437aae3f4da",
                Some("1.7.27"),
            ),
            ("containerd containerd.io 1.6.8 9cd3357", Some("1.6.8")),
            ("containerd x 1.6.20~ds1 1.6.20~ds1-1", Some("1.6.20~ds1")),
            (
                "1.82.5\n  tailscale commit: abc\n  go version: go1.24.1\n",
                Some("1.82.5"),
            ),
            ("go1.24.1 1.2 v1.x.3 1.2.", None),
            ("", None),
        ] {
            assert_eq!(first_version(text).as_deref(), version, "{text}");
        }
    }

    #[tokio::test]
    async fn a_program_that_is_not_installed() {
        assert!(matches!(
            of("gpud-no-such-program").await,
            Err(SourceError::NotFound(_))
        ));
    }
}
