//! The end of a command that does not simply succeed: a status, and a text for one of the streams.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use serde_json::json;

use super::terminal::{Terminal, printable_json, printable_lines};

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Exit status: 0 success, 1 any error, 3 unknown command.
    pub code: u8,
    /// Printed as it is, but for characters that would drive the terminal even in JSON.
    pub stdout: String,
    /// The text for standard error.
    pub stderr: Stderr,
}

/// The text for standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stderr {
    /// Nothing.
    Nothing,
    /// A line; control characters in it are written out.
    Line(String),
    /// The same behind a `✘`.
    Failure(String),
}

impl Exit {
    /// Success, with this on standard output.
    pub fn success(stdout: impl Into<String>) -> Self {
        Self {
            code: 0,
            stdout: stdout.into(),
            stderr: Stderr::Nothing,
        }
    }

    /// Status 1 and `✘ message` on standard error.
    pub fn failure(message: impl ToString) -> Self {
        Self {
            code: 1,
            stdout: String::new(),
            stderr: Stderr::Failure(message.to_string()),
        }
    }

    /// Status 1 and `{"error":{"code":…,"message":…}}` as one line on standard output: the form of failure for commands
    /// that were asked for JSON.
    pub fn json_failure(code: &str, message: impl ToString) -> Self {
        let document = json!({"error": {"code": code, "message": message.to_string()}});
        Self {
            code: 1,
            stdout: format!("{document}\n"),
            stderr: Stderr::Nothing,
        }
    }

    /// The same failure for a command that was asked for JSON, if it was; what it had printed stays.
    #[must_use]
    pub fn in_json(self, json: bool, code: &str) -> Self {
        match self.stderr {
            Stderr::Failure(message) if json => {
                let failure = Self::json_failure(code, message);
                Self {
                    stdout: self.stdout + &failure.stdout,
                    ..failure
                }
            }
            _ => self,
        }
    }

    /// Prints the output. A reader that has closed the pipe is no error.
    pub fn report(&self, stderr: Terminal) -> ExitCode {
        let mut stdout = io::stdout();
        let _ = stdout
            .write_all(printable_json(&self.stdout).as_bytes())
            .and_then(|()| stdout.flush());
        let _ = io::stderr().write_all(self.stderr.text(stderr).as_bytes());
        ExitCode::from(self.code)
    }
}

impl Stderr {
    /// Returns what is written. Messages quote names of files and what is in them; neither may drive the terminal.
    fn text(&self, stderr: Terminal) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Line(line) => format!("{}\n", printable_lines(line)),
            Self::Failure(message) => format!("{} {}\n", stderr.bad(), printable_lines(message)),
        }
    }
}

impl From<io::Error> for Exit {
    /// Output could not be written. When the reader has had enough (`gpud scan | head`), that is a quiet end.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::success(""),
            _ => Self::failure(format!("cannot write the output: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_failures_are_one_line_with_code_and_message() {
        let exit = Exit::json_failure("failed_to_open_state_file", "a \"quoted\" name");
        assert_eq!(
            exit.stdout,
            "{\"error\":{\"code\":\"failed_to_open_state_file\",\"message\":\"a \\\"quoted\\\" name\"}}\n"
        );
        assert_eq!((exit.code, exit.stderr), (1, Stderr::Nothing));
    }

    #[test]
    fn a_failure_is_put_into_json_when_that_was_asked_for() {
        let failure = || Exit {
            stdout: "before\n".to_owned(),
            ..Exit::failure("why")
        };
        assert_eq!(failure().in_json(false, "c"), failure());
        assert_eq!(
            failure().in_json(true, "c").stdout,
            "before\n{\"error\":{\"code\":\"c\",\"message\":\"why\"}}\n"
        );
        let success = Exit::success("x");
        assert_eq!(success.clone().in_json(true, "c"), success);
    }

    #[test]
    fn quoted_text_of_a_failure_cannot_control_the_terminal() {
        let said = |stderr: Stderr| stderr.text(Terminal::PLAIN);
        let failure = Exit::failure("a\u{1b}]0;x\u{7}.tar: no archive\n  try b");
        assert_eq!(
            said(failure.stderr),
            "✘ a\\u{1b}]0;x\\u{7}.tar: no archive\n  try b\n"
        );
        let line = Stderr::Line("No help topic for '\u{9b}1m'".to_owned());
        assert_eq!(said(line), "No help topic for '\\u{9b}1m'\n");
        assert_eq!(said(Stderr::Nothing), "");
    }

    #[test]
    fn a_closed_pipe_is_a_quiet_success_and_a_full_disk_is_not() {
        let exit = |kind: io::ErrorKind| Exit::from(io::Error::from(kind)).code;
        assert_eq!(exit(io::ErrorKind::BrokenPipe), 0);
        assert_eq!(exit(io::ErrorKind::StorageFull), 1);
    }
}
