//! `log`: lines of a plugin in the daemon's log, tagged and bounded.

use super::{
    Call,
    wire::log::{Host, Level},
};

/// Longest line, bytes.
const MAX_LINE: usize = 4096;

impl Host for Call {
    async fn write(&mut self, level: Level, message: String) {
        self.bill.host_calls = self.bill.host_calls.saturating_add(1);
        self.bill.bytes = self.bill.bytes.saturating_add(message.len() as u64);
        let Some(left) = self.budget.log_lines.checked_sub(1) else {
            self.dropped_log_lines = self.dropped_log_lines.saturating_add(1);
            return;
        };
        self.budget.log_lines = left;
        let line = printable(&message);
        let (plugin, component) = (&self.identity.plugin, &self.identity.component);
        match level {
            Level::Debug => tracing::debug!(target: "plugin", plugin, component, "{line}"),
            Level::Info => tracing::info!(target: "plugin", plugin, component, "{line}"),
            Level::Warn => tracing::warn!(target: "plugin", plugin, component, "{line}"),
            Level::Error => tracing::error!(target: "plugin", plugin, component, "{line}"),
        }
    }
}

/// One bounded line without control characters, so that a plugin cannot forge further log lines or drive a terminal.
pub(crate) fn printable(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(MAX_LINE));
    for character in text.trim_end().chars() {
        if line.len() >= MAX_LINE {
            line.push('…');
            break;
        }
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_cannot_forge_others() {
        assert_eq!(
            printable("a\nERROR forged\u{1b}[31m\n"),
            "a\\nERROR forged\\u{1b}[31m"
        );
        let long = printable(&"x".repeat(10_000));
        assert!(long.len() <= MAX_LINE + 4 && long.ends_with('…'));
    }
}
