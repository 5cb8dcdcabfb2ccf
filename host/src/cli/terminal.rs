//! The three signs in front of a line, and when they are coloured.
//!
//! GPUd always colours, even into a file; here colour needs a terminal or an explicit request.

use std::{
    env,
    io::{self, IsTerminal as _},
};

/// What `--color` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    Auto,
    /// Also into pipes and files.
    Always,
    /// Never.
    Never,
}

/// How wide tables may be where no terminal says it: into a pipe or a file.
const PIPE_WIDTH: usize = 160;
/// What `COLUMNS` or a terminal may say of its width.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=10_000;

/// Whether a stream is given colours, and how wide tables on it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    color: bool,
    width: usize,
}

impl Terminal {
    /// Never coloured.
    pub const PLAIN: Self = Self {
        color: false,
        width: PIPE_WIDTH,
    };

    /// Standard output. `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are heeded where `choice` leaves it open.
    pub fn stdout(choice: ColorChoice) -> Self {
        let size = terminal_size::terminal_size_of(io::stdout());
        Self::of(choice, io::stdout().is_terminal(), size)
    }

    /// Standard error, by the same rules.
    pub fn stderr(choice: ColorChoice) -> Self {
        let size = terminal_size::terminal_size_of(io::stderr());
        Self::of(choice, io::stderr().is_terminal(), size)
    }

    fn of(
        choice: ColorChoice,
        is_terminal: bool,
        size: Option<(terminal_size::Width, terminal_size::Height)>,
    ) -> Self {
        let text = |name: &str| env::var(name).unwrap_or_default();
        Self {
            color: decide(
                choice,
                &text("NO_COLOR"),
                &text("CLICOLOR_FORCE"),
                &text("TERM"),
                is_terminal,
            ),
            width: width(&text("COLUMNS"), size.map(|(width, _)| width.0)),
        }
    }

    /// Columns that a line may take.
    pub fn width(self) -> usize {
        self.width
    }

    /// Green ✔.
    pub fn good(self) -> &'static str {
        if self.color {
            "\u{1b}[32m✔\u{1b}[0m"
        } else {
            "✔"
        }
    }

    /// Red ✘.
    pub fn bad(self) -> &'static str {
        if self.color {
            "\u{1b}[31m✘\u{1b}[0m"
        } else {
            "✘"
        }
    }

    /// Yellow ⌛.
    pub fn waiting(self) -> &'static str {
        if self.color {
            "\u{1b}[33m⌛\u{1b}[0m"
        } else {
            "⌛"
        }
    }
}

/// An empty variable counts as unset (no-color.org); `CLICOLOR_FORCE=0` too (bixense.com/clicolors).
fn decide(choice: ColorChoice, no_color: &str, force: &str, term: &str, is_terminal: bool) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if !no_color.is_empty() => false,
        ColorChoice::Auto if !matches!(force, "" | "0") => true,
        ColorChoice::Auto => is_terminal && term != "dumb",
    }
}

/// `COLUMNS` if it says something sensible, then the terminal, then what suits a file.
fn width(columns: &str, terminal: Option<u16>) -> usize {
    let asked = columns.parse().ok();
    let terminal = terminal.map(usize::from);
    let sensible = |width: &usize| WIDTHS.contains(width);
    asked
        .filter(sensible)
        .or(terminal.filter(sensible))
        .unwrap_or(PIPE_WIDTH)
}

/// The text on one line and without control characters, so that what a plugin or a kernel line says cannot drive the
/// terminal of the person who reads it.
pub fn printable(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.trim().chars() {
        match character {
            '\n' | '\t' | '\r' => line.push(' '),
            c if c.is_control() => line.extend(c.escape_default()),
            c => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_for_terminals_and_those_who_ask() {
        use ColorChoice::{Always, Auto, Never};
        for (choice, no_color, force, term, is_terminal, expected) in [
            (Auto, "", "", "xterm", true, true),
            (Auto, "", "", "xterm", false, false),
            (Auto, "", "", "dumb", true, false),
            (Auto, "1", "", "xterm", true, false),
            (Auto, "1", "1", "xterm", true, false),
            (Auto, "", "1", "xterm", false, true),
            (Auto, "", "0", "xterm", false, false),
            (Always, "1", "", "dumb", false, true),
            (Never, "", "1", "xterm", true, false),
        ] {
            assert_eq!(
                decide(choice, no_color, force, term, is_terminal),
                expected,
                "{choice:?} NO_COLOR={no_color} CLICOLOR_FORCE={force} TERM={term} {is_terminal}"
            );
        }
    }

    #[test]
    fn signs_carry_escapes_only_in_colour() {
        let signs = |color| {
            let terminal = Terminal {
                color,
                ..Terminal::PLAIN
            };
            [terminal.good(), terminal.bad(), terminal.waiting()]
        };
        assert_eq!(signs(false), ["✔", "✘", "⌛"]);
        assert_eq!(
            signs(true),
            [
                "\u{1b}[32m✔\u{1b}[0m",
                "\u{1b}[31m✘\u{1b}[0m",
                "\u{1b}[33m⌛\u{1b}[0m"
            ]
        );
    }

    #[test]
    fn how_wide_a_line_may_be() {
        for (columns, terminal, expected) in [
            ("", Some(80), 80),
            ("", None, PIPE_WIDTH),
            ("100", Some(80), 100),
            ("100", None, 100),
            ("0", Some(80), 80),
            ("wide", None, PIPE_WIDTH),
            ("", Some(0), PIPE_WIDTH),
        ] {
            assert_eq!(width(columns, terminal), expected, "{columns} {terminal:?}");
        }
    }

    #[test]
    fn foreign_text_cannot_drive_the_terminal() {
        assert_eq!(
            printable(" a\nb\u{1b}[2Jc\u{9b}d\t"),
            "a b\\u{1b}[2Jc\\u{9b}d"
        );
    }
}
