//! Asking a program of the machine.

use gpud_sdk::AccessError;
use gpud_sdk::program::{self, ProgramOutput};

/// The outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// There is no such program.
    Missing,
    /// It ran to its end, well or not.
    Said(ProgramOutput),
    /// It did not end in time: what it asks is slow or stuck, the machine is not.
    Silent(String),
}

impl Answer {
    /// Standard output of a run that ended well, or why there is none.
    pub fn output(self) -> Result<String, String> {
        match self {
            Self::Missing => Err("the program is not installed".to_owned()),
            Self::Said(said) if said.is_ok() => Ok(said.stdout),
            Self::Said(said) => Err(match (said.complaint.as_str(), said.code) {
                ("", Some(code)) => format!("it ended with status {code}"),
                ("", None) => "a signal ended it".to_owned(),
                (complaint, _) => complaint.to_owned(),
            }),
            Self::Silent(why) => Err(why),
        }
    }
}

/// Runs a program.
///
/// # Errors
/// As `exec.run-program`, but for a program that is not there and one that does not end.
pub fn ask(program: &str, arguments: &[&str], seconds: u32) -> Result<Answer, AccessError> {
    match program::run(program, arguments, seconds) {
        Ok(Some(said)) => Ok(Answer::Said(said)),
        Ok(None) => Ok(Answer::Missing),
        Err(error @ AccessError::TimedOut(_)) => Ok(Answer::Silent(error.text())),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_every_end() {
        let said = |code, stdout: &str, stderr: &str| {
            Answer::Said(ProgramOutput::new(
                code,
                stdout.as_bytes(),
                stderr.as_bytes(),
            ))
            .output()
        };
        assert_eq!(said(Some(0), "x", ""), Ok("x".to_owned()));
        assert_eq!(
            said(Some(1), "", "no device\n"),
            Err("no device".to_owned())
        );
        assert_eq!(
            said(Some(3), "", ""),
            Err("it ended with status 3".to_owned())
        );
        assert_eq!(said(None, "", ""), Err("a signal ended it".to_owned()));
        assert!(Answer::Missing.output().is_err());
        assert_eq!(
            Answer::Silent("late".to_owned()).output(),
            Err("late".to_owned())
        );
    }
}
