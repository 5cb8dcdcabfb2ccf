//! Text of any origin, wrapped at the terminal's width and indented.

use super::{
    table::wrap,
    terminal::{Terminal, printable},
};

/// Narrowest text.
const MIN_WIDTH: usize = 10;

/// The width and indentation of wrapped text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paragraph {
    /// How wide lines may be.
    pub terminal: Terminal,
    /// Blanks before each line.
    pub indent: usize,
}

impl Paragraph {
    /// Writes lines.
    pub fn write(self, to: &mut String, text: &str) {
        to.push_str(&" ".repeat(self.indent));
        self.write_on(to, text);
    }

    /// Writes lines, the first behind what is there already.
    pub fn write_on(self, to: &mut String, text: &str) {
        let width = self.terminal.width().saturating_sub(self.indent);
        let width = width.max(MIN_WIDTH);
        let separator = format!("\n{}", " ".repeat(self.indent));
        to.push_str(&wrap(&printable(text), width, width).join(&separator));
        to.push('\n');
    }
}
