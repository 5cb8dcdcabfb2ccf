//! The state of the screen, and how keys change it.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::cli::live::MachineSnapshot;

/// Longest filter, characters.
const MAX_FILTER: usize = 60;

/// A part of the screen's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Pane {
    /// Troubles, GPUs, last events.
    #[default]
    Overview,
    /// GPUs.
    Gpus,
    /// Events and changes of health.
    Events,
    /// All components.
    Checks,
}

impl Pane {
    /// All, in the order of their keys.
    pub const ALL: [Self; 4] = [Self::Overview, Self::Gpus, Self::Events, Self::Checks];

    /// Its name.
    pub fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Gpus => "GPUs",
            Self::Events => "Events",
            Self::Checks => "Checks",
        }
    }

    fn place(self) -> usize {
        Self::ALL.iter().position(|pane| *pane == self).unwrap_or(0)
    }

    fn at(place: usize) -> Self {
        Self::ALL
            .get(place % Self::ALL.len())
            .copied()
            .unwrap_or_default()
    }
}

/// A key that was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// A character.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Back,
    /// Tab, or the right arrow.
    NextPane,
    /// Shift and tab, or the left arrow.
    PreviousPane,
    /// Scroll so many lines down, or up.
    Scroll(isize),
    /// Scroll to the first line.
    Home,
    /// Scroll to the last line.
    End,
    /// Control and C.
    Interrupt,
    /// The size changed.
    Redraw,
}

impl Key {
    /// Converts a key of the terminal; `None` for keys without a meaning here.
    pub fn of(key: KeyEvent) -> Option<Self> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return (key.code == KeyCode::Char('c')).then_some(Self::Interrupt);
        }
        Some(match key.code {
            KeyCode::Char(character) => Self::Char(character),
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc => Self::Escape,
            KeyCode::Backspace => Self::Back,
            KeyCode::Tab | KeyCode::Right => Self::NextPane,
            KeyCode::BackTab | KeyCode::Left => Self::PreviousPane,
            KeyCode::Down => Self::Scroll(1),
            KeyCode::Up => Self::Scroll(-1),
            KeyCode::PageDown => Self::Scroll(10),
            KeyCode::PageUp => Self::Scroll(-10),
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            _ => return None,
        })
    }
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// Draw again.
    GoOn,
    /// The user ends it.
    End,
}

/// Everything that the screen depends on.
#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    /// The daemon's last answer.
    pub look: Option<MachineSnapshot>,
    /// When that was, Unix milliseconds.
    pub taken: u64,
    /// Why it says nothing now.
    pub problem: Option<String>,
    /// Now, Unix milliseconds.
    pub now: u64,
    /// The content of the pane.
    pub pane: Pane,
    /// Only lines with this text.
    pub filter: String,
    /// The filter is being typed.
    pub typing: bool,
    /// Only what is not well.
    pub only_bad: bool,
    /// The keys are shown.
    pub help: bool,
    /// Lines above the first that is shown.
    pub scroll: usize,
    /// With colours.
    pub color: bool,
}

impl Model {
    /// Nothing is known yet.
    pub fn new(color: bool) -> Self {
        Self {
            color,
            ..Self::default()
        }
    }

    /// Takes what the daemon said; while it says nothing, the last that it said stays.
    pub fn take(&mut self, look: Result<MachineSnapshot, String>, now: u64) {
        match look {
            Ok(look) => {
                self.look = Some(look);
                self.taken = now;
                self.problem = None;
            }
            Err(problem) => self.problem = Some(problem),
        }
    }

    /// Does what a key asks for.
    pub fn press(&mut self, key: Key) -> Flow {
        if key == Key::Interrupt {
            return Flow::End;
        }
        if self.typing {
            self.type_filter(key);
            return Flow::GoOn;
        }
        match key {
            Key::Char('q' | 'Q') => return Flow::End,
            Key::Escape if self.help => self.help = false,
            Key::Escape if self.filter.is_empty() && !self.only_bad => return Flow::End,
            Key::Escape => {
                self.filter.clear();
                self.only_bad = false;
                self.scroll = 0;
            }
            Key::Char('?' | 'h') => self.help = !self.help,
            Key::Char('/') => {
                self.typing = true;
                self.scroll = 0;
            }
            Key::Char('w') => {
                self.only_bad = !self.only_bad;
                self.scroll = 0;
            }
            Key::Char(digit @ '1'..='4') => {
                let place = digit.to_digit(10).unwrap_or(1) as usize - 1;
                self.show(Pane::at(place));
            }
            Key::NextPane => self.show(Pane::at(self.pane.place() + 1)),
            Key::PreviousPane => self.show(Pane::at(self.pane.place() + Pane::ALL.len() - 1)),
            Key::Scroll(by) => self.scroll = self.scroll.saturating_add_signed(by),
            Key::Char('j') => self.scroll = self.scroll.saturating_add(1),
            Key::Char('k') => self.scroll = self.scroll.saturating_sub(1),
            Key::Home | Key::Char('g') => self.scroll = 0,
            // Drawing knows how many lines there are.
            Key::End | Key::Char('G') => self.scroll = usize::MAX,
            Key::Char(_) | Key::Enter | Key::Back | Key::Redraw | Key::Interrupt => {}
        }
        Flow::GoOn
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Char(character) if self.filter.chars().count() < MAX_FILTER => {
                self.filter.push(character);
            }
            Key::Back => {
                self.filter.pop();
            }
            Key::Enter => self.typing = false,
            Key::Escape => {
                self.typing = false;
                self.filter.clear();
            }
            _ => {}
        }
    }

    fn show(&mut self, pane: Pane) {
        self.pane = pane;
        self.scroll = 0;
        self.help = false;
    }
}

#[cfg(test)]
mod tests;
