//! The signs in front of a line, when they are coloured, and foreign text that cannot drive a terminal.
//!
//! GPUd always colours, even into a file; here colour needs a terminal or an explicit request.

use std::{
    env,
    io::{self, IsTerminal as _},
    path::Path,
};

use crate::model::Health;
pub use crate::text::{printable, printable_json, printable_lines};

/// Returns a path as it is shown to people: a user who made a file chose its name.
pub fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}

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
/// The accepted widths of `COLUMNS` or a terminal.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=10_000;

/// Whether a stream is given colours and signs, and how wide tables on it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    color: bool,
    /// A person looks at it: signs replace words, and progress is shown.
    signs: bool,
    width: usize,
}

/// The sign of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Something does not work.
    Bad,
    /// Something needs attention.
    Warning,
    /// All is well.
    Good,
    /// Not known yet.
    Waiting,
    /// The component does not apply here.
    Absent,
    /// No mark, for text that is only coloured.
    Strong,
}

impl Mark {
    /// Returns the mark of a health.
    pub fn of(health: &Health) -> Self {
        match health {
            Health::Healthy => Self::Good,
            Health::Initializing => Self::Waiting,
            Health::Degraded => Self::Warning,
            Health::Unhealthy | Health::Other(_) => Self::Bad,
        }
    }

    /// The sign on a terminal and the word elsewhere.
    fn sign_and_word(self) -> (&'static str, &'static str) {
        match self {
            Self::Bad => ("✘", "unhealthy"),
            Self::Warning => ("!", "degraded"),
            Self::Good => ("✔", "healthy"),
            Self::Waiting => ("⌛", "waiting"),
            Self::Absent => ("-", "absent"),
            Self::Strong => ("", ""),
        }
    }

    /// The parameters of the escape sequence that colours.
    fn color(self) -> &'static str {
        match self {
            Self::Bad => "31",
            Self::Warning => "33",
            Self::Good => "32",
            Self::Waiting => "33",
            Self::Absent => "2",
            Self::Strong => "1",
        }
    }
}

impl Terminal {
    /// Never coloured.
    pub const PLAIN: Self = Self {
        color: false,
        signs: false,
        width: PIPE_WIDTH,
    };

    /// A terminal with signs and without colours, of this width.
    pub const fn with_signs(width: usize) -> Self {
        Self {
            color: false,
            signs: true,
            width,
        }
    }

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
            signs: is_terminal || choice == ColorChoice::Always,
            width: width(&text("COLUMNS"), size.map(|(width, _)| width.0)),
        }
    }

    /// Whether there are colours.
    pub fn has_color(self) -> bool {
        self.color
    }

    /// Whether a person looks at it.
    pub fn has_signs(self) -> bool {
        self.signs
    }

    /// A mark and the blanks after it: a sign on a terminal, a word of one width elsewhere.
    pub fn mark(self, mark: Mark) -> String {
        let (sign, word) = mark.sign_and_word();
        match self.signs {
            true => {
                // An hourglass takes two columns.
                let gap = if mark == Mark::Waiting { "" } else { " " };
                format!("{}{gap}", self.paint(mark, sign))
            }
            false => format!("{word:<10} "),
        }
    }

    /// How many columns [`Self::mark`] takes.
    pub fn mark_width(self) -> usize {
        if self.signs { 2 } else { 11 }
    }

    /// The text in the colour of a mark, where there are colours.
    pub fn paint(self, mark: Mark, text: &str) -> String {
        match self.color && !text.is_empty() {
            true => format!("\u{1b}[{}m{text}\u{1b}[0m", mark.color()),
            false => text.to_owned(),
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

#[cfg(test)]
mod tests;
