//! Errors of the database, as errors of deliveries.

use std::error::Error as _;

use tokio_postgres::{Error, error::SqlState};

use crate::{
    DeliveryError,
    http::{Confidential, said},
    status::shortened,
};

/// Characters of an SQLSTATE.
const CODE: usize = 5;

/// Judges an error. `target` names the database, without secrets; words that repeat the password are not shown.
///
/// Values that the database has no place for are refused. Everything else may pass: an operator or the database's own
/// restart may resolve it.
pub fn judge(error: &Error, target: &str, password: &Confidential) -> DeliveryError {
    let Some(found) = error.as_db_error() else {
        let words = password.hide(chain(error));
        return DeliveryError::transient(format!("{target}: {}", shortened(&words)));
    };
    let code = found.code();
    // Nothing that a server says is believed to be short.
    let shown: String = code.code().chars().take(CODE).collect();
    let words = |words: &str| said(&password.hide(words.to_owned()));
    let mut message = format!("{target}{} ({shown})", words(found.message()));
    if let Some(detail) = found.detail() {
        message.push_str(&words(detail));
    }
    message.push_str(hint(code));
    match is_refusal(code) {
        true => DeliveryError::refused(message),
        false => DeliveryError::transient(message),
    }
}

/// Returns true if the same rows will never be taken: values that do not fit (22), constraints (23), limits (54).
fn is_refusal(code: &SqlState) -> bool {
    ["22", "23", "54"]
        .iter()
        .any(|class| code.code().starts_with(class))
}

/// Returns true if a table or a column is not as expected, so that the tables must be looked at again.
pub fn is_about_tables(error: &Error) -> bool {
    let code = error.code().map(SqlState::code);
    code.is_some_and(|code| code.starts_with("42") || code == "3F000")
}

fn hint(code: &SqlState) -> &'static str {
    match code.code() {
        "28P01" | "28000" => "; look at user and password, and at the server's pg_hba.conf",
        "42501" => "; grant it, or have somebody else make the tables",
        "3F000" | "42P01" => "; docs/exports-postgres.md has the tables",
        "42703" => "; the table is another one, docs/exports-postgres.md has its columns",
        _ => "",
    }
}

/// Returns an error with its causes.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_that_never_fit_are_refused() {
        for (code, refused) in [
            ("22021", true),
            ("22P02", true),
            ("23502", true),
            ("54000", true),
            ("28P01", false),
            ("3D000", false),
            ("40001", false),
            ("42P01", false),
            ("53300", false),
            ("57014", false),
            ("57P03", false),
        ] {
            assert_eq!(is_refusal(&SqlState::from_code(code)), refused, "{code}");
        }
    }
}
