//! The terminal while it is used as a screen, and what is typed.

use std::{
    io::{self, Stdout},
    panic,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use ratatui::{
    Terminal,
    backend::CrosstermBackend,
    crossterm::{
        cursor::{Hide, Show},
        event::{self, Event, KeyEventKind},
        execute,
        terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
    },
};
use tokio::sync::mpsc;

use super::{
    draw,
    model::{Key, Model},
};

/// How long the thread that reads keys waits before it looks whether it shall end.
const POLL: Duration = Duration::from_millis(100);

/// The screen; dropped, the terminal is as it was before.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    ended: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal over.
    pub fn enter() -> io::Result<Self> {
        // A panic writes its message after the terminal is given back, where it can be read.
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
        enable_raw_mode()?;
        let entered = execute!(io::stdout(), EnterAlternateScreen, Hide)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match entered {
            Ok(terminal) => Ok(Self {
                terminal,
                ended: Arc::default(),
            }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Draws everything.
    pub fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        self.terminal.draw(|frame| draw::draw(frame, model))?;
        Ok(())
    }

    /// Returns the keys that are typed from now on.
    pub fn keys(&self) -> mpsc::Receiver<Key> {
        let (sender, receiver) = mpsc::channel(16);
        let ended = Arc::clone(&self.ended);
        // Reading a terminal blocks; a thread of its own ends within a moment of the screen.
        thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let event = match event::poll(POLL) {
                    Ok(true) => event::read(),
                    Ok(false) => continue,
                    Err(_) => return,
                };
                let key = match event {
                    Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => Key::of(key),
                    Ok(Event::Resize(..)) => Some(Key::Redraw),
                    Ok(_) => None,
                    Err(_) => return,
                };
                if key.is_some_and(|key| sender.blocking_send(key).is_err()) {
                    return;
                }
            }
        });
        receiver
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        give_back();
    }
}

/// Makes the terminal what it was, as far as it can be.
fn give_back() {
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
}
