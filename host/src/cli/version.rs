//! The output of `gpud --version`.

use super::VERSION;
use crate::capability::CONTRACT;

/// The commit that this gpud was built from, if the build said so. `cargo xtask dist` does; other builds would have to
/// compile gpud again after every commit.
const COMMIT: Option<&str> = option_env!("GPUD_COMMIT");

/// Returns the version, the commit where it is known, and the plugin contract. Scripts take the third word.
pub fn line() -> String {
    line_of(COMMIT)
}

fn line_of(commit: Option<&str>) -> String {
    let commit = commit.filter(|commit| !commit.is_empty());
    let commit = commit.map_or_else(String::new, |commit| format!("commit {commit}, "));
    format!("gpud version {VERSION} ({commit}contract {CONTRACT})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_is_named_where_it_is_known() {
        assert_eq!(
            line_of(Some("0123456789ab")),
            format!("gpud version {VERSION} (commit 0123456789ab, contract {CONTRACT})")
        );
        for unknown in [None, Some("")] {
            assert_eq!(
                line_of(unknown),
                format!("gpud version {VERSION} (contract {CONTRACT})")
            );
        }
    }
}
