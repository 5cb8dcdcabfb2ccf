//! Lines that say that a GPU has fallen off the bus without naming Xid 79.
//!
//! One line (`NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.`), or a message over several lines that begins `NVRM:
//! The NVIDIA GPU 0000:3b:00.0`. Within one record of the kernel log the line ends of the latter appear as `\x0a`.

/// What the lines looked at so far tell.
#[derive(Default)]
pub(super) struct OffTheBus {
    one: Option<String>,
    several: Option<String>,
}

impl OffTheBus {
    /// Looks at what follows the driver's name in one line.
    pub(super) fn look(&mut self, line: &str) {
        let line = line.trim_ascii_start();
        if let Some(line) = line.strip_prefix("GPU ") {
            if self.one.is_none() {
                self.one = device(line).and_then(|(id, rest)| {
                    let rest = rest.strip_prefix(':')?.trim_ascii_start();
                    rest.starts_with("GPU has fallen off the bus").then_some(id)
                });
            }
        } else if let Some(line) = line.strip_prefix("The NVIDIA GPU ")
            && self.several.is_none()
        {
            self.several = device(line).and_then(|(id, rest)| {
                rest.contains("fallen off the bus and is not responding to commands.")
                    .then_some(id)
            });
        }
    }

    /// The GPU: `PCI:` and its id without the function, the domain filled in. The first line of the one form, wherever it
    /// stands, wins over one of the other.
    pub(super) fn device(self) -> Option<String> {
        self.one.or(self.several)
    }
}

/// Reads `[‹domain›:]‹bus›:‹device›.0`. A domain has four digits; lenient: up to eight.
fn device(text: &str) -> Option<(String, &str)> {
    let end = text
        .bytes()
        .take_while(|byte| byte.is_ascii_hexdigit() || *byte == b':')
        .count();
    let (id, rest) = text.split_at_checked(end)?;
    let rest = rest.strip_prefix(".0")?;
    let mut parts = id.rsplitn(3, ':').map(str::len);
    let shape = (parts.next(), parts.next(), parts.next());
    let id = match shape {
        (Some(2), Some(2), None) => format!("PCI:0000:{id}"),
        (Some(2), Some(2), Some(4..=8)) if id.matches(':').count() == 2 => format!("PCI:{id}"),
        _ => return None,
    };
    Some((id, rest))
}
