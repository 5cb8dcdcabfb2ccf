//! Selects the processes that one check examines. Reading the state of a process takes the kernel some 10 µs, and listing them all
//! for it again some, so on a machine with thousands of them a scheduled check looks at a part, selected by the last
//! digit of the pid, and keeps what it saw for the checks in which it is others' turn. Processes that are followed are
//! looked at in every check. Open files are counted less often: `file-nr` shows at every check when the machine runs
//! out of them.

use gpud_sdk::AccessError;
use gpud_sdk::sysfs::{EntryCount, FileContent};

use crate::processes::Processes;

/// Up to this many processes, each check looks at all; beyond, at about this many.
const AT_ONCE: u64 = 300;
/// Up to this many, each check looks at two parts at least, and so at each process within five checks; beyond, at one.
const TWO_PARTS: u64 = 20_000;
/// How often open files are counted in checks of the schedule: in every fifth, which may come a little early.
const FILES_EVERY_MS: u64 = 5 * 60_000 - 30_000;
/// Of about this many processes.
const FILES_AT_ONCE: u64 = 2_500;
/// Parts, by last digit.
const PARTS: u8 = 10;

/// What was seen of each part when it was looked at last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sweep {
    next: u8,
    parts: [Option<Part>; PARTS as usize],
    files: Files,
}

/// One part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Part {
    total: u64,
    zombies: u64,
    blocked: u64,
}

/// Open files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Files {
    next: u8,
    /// When some were counted last, unix milliseconds.
    at: u64,
    parts: [Option<u64>; PARTS as usize],
    /// What is missing from the counts, one line.
    note: String,
}

/// The processes that a check looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SweepPart {
    /// All processes.
    All,
    /// Those whose pid ends with one of these digits.
    Digits(Vec<u8>),
}

/// Sums over the processes that a check does not look at, and the content of those of them that are followed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OtherProcesses {
    /// Processes.
    pub total: u64,
    /// Zombies.
    pub zombies: u64,
    /// In uninterruptible sleep when they were looked at.
    pub blocked: u64,
    /// Open files, of all whose files were not counted in this check.
    pub open_files: u64,
    /// What is missing from the open files, if none were counted in this check.
    pub note: Option<String>,
    /// `stat` of followed processes.
    pub watched: Vec<FileContent>,
}

impl SweepPart {
    /// Where these processes have a file of this name.
    pub fn pattern(&self, file: &str) -> String {
        match self {
            Self::All => format!("/proc/[0-9]*/{file}"),
            Self::Digits(digits) => {
                let digits: String = digits.iter().map(u8::to_string).collect();
                format!("/proc/*[{digits}]/{file}")
            }
        }
    }

    /// Whether it is the turn of a process.
    pub fn has(&self, pid: u32) -> bool {
        self.has_digit((pid % u32::from(PARTS)) as u8)
    }

    fn has_digit(&self, digit: u8) -> bool {
        match self {
            Self::All => true,
            Self::Digits(digits) => digits.contains(&digit),
        }
    }

    /// The next so many parts.
    fn next(next: &mut u8, count: u64) -> Self {
        let count = count.clamp(1, PARTS.into()) as u8;
        if count == PARTS {
            return Self::All;
        }
        let first = *next % PARTS;
        *next = (first + count) % PARTS;
        Self::Digits((first..first + count).map(|digit| digit % PARTS).collect())
    }
}

impl Sweep {
    /// Goes on where [`Sweep::save`] left off in this boot.
    pub fn restore(saved: Option<&str>, boot_id: &str) -> Self {
        saved
            .and_then(|saved| Self::parse(saved, boot_id))
            .unwrap_or_default()
    }

    fn parse(saved: &str, boot_id: &str) -> Option<Self> {
        let mut lines = saved.strip_prefix(boot_id)?.strip_prefix('\n')?.lines();
        let mut head = lines.next()?.split(' ');
        let mut sweep = Self {
            next: head.next()?.parse().ok()?,
            ..Self::default()
        };
        sweep.files.next = head.next()?.parse().ok()?;
        sweep.files.at = head.next()?.parse().ok()?;
        for (part, files) in sweep.parts.iter_mut().zip(&mut sweep.files.parts) {
            let mut numbers = lines.next()?.split(' ').map(|number| number.parse().ok());
            let mut number = || numbers.next().flatten();
            *files = number();
            *part = number().and_then(|total| {
                Some(Part {
                    total,
                    zombies: number()?,
                    blocked: number()?,
                })
            });
        }
        lines
            .next()
            .unwrap_or_default()
            .clone_into(&mut sweep.files.note);
        Some(sweep)
    }

    /// As text. While there are so few processes that all are looked at, it changes only when open files are counted.
    pub fn save(&self, boot_id: &str) -> String {
        let Files { next, at, .. } = self.files;
        let mut text = format!("{boot_id}\n{} {next} {at}\n", self.next);
        let many = self.total() > AT_ONCE;
        for (part, files) in self.parts.iter().zip(&self.files.parts) {
            match files {
                None => text.push('-'),
                Some(files) => text.push_str(&files.to_string()),
            }
            match part.filter(|_| many) {
                None => text.push_str(" -\n"),
                Some(part) => text.push_str(&format!(
                    " {} {} {}\n",
                    part.total, part.zombies, part.blocked
                )),
            }
        }
        text.push_str(&self.files.note);
        text
    }

    /// Returns the part of the processes for a scheduled check. Other checks examine all.
    pub fn turn(&mut self) -> SweepPart {
        let many = match self.total() {
            0..=AT_ONCE => return SweepPart::All,
            many => many,
        };
        let least = if many <= TWO_PARTS { 2 } else { 1 };
        let count = (u64::from(PARTS) * AT_ONCE / many).max(least);
        SweepPart::next(&mut self.next, count)
    }

    /// Returns the next part where there are more processes than one check can examine.
    pub fn one_part(&mut self) -> SweepPart {
        SweepPart::next(&mut self.next, 1)
    }

    /// Returns the processes whose open files a scheduled check counts, if any. Other checks count all.
    pub fn files_turn(&mut self, now: u64) -> Option<SweepPart> {
        let since = now.checked_sub(self.files.at);
        if since.is_some_and(|since| since < FILES_EVERY_MS) {
            return None;
        }
        Some(match self.total() {
            0..=FILES_AT_ONCE => SweepPart::All,
            many => {
                let count = u64::from(PARTS) * FILES_AT_ONCE / many;
                SweepPart::next(&mut self.files.next, count)
            }
        })
    }

    /// The same where all are more than can be looked at.
    pub fn files_of_one_part(&mut self) -> SweepPart {
        SweepPart::next(&mut self.files.next, 1)
    }

    /// Takes in what was seen in a turn.
    pub fn take(&mut self, turn: &SweepPart, files: &Result<Vec<FileContent>, AccessError>) {
        let Ok(files) = files else { return };
        let mut seen = [Part::default(); PARTS as usize];
        for file in files {
            let Some(part) = digit(&file.path).and_then(|digit| seen.get_mut(digit)) else {
                continue;
            };
            let process = Processes::parse([file]);
            part.total += u64::from(process.total);
            part.zombies += u64::from(process.zombies);
            part.blocked += process.blocked.len() as u64;
        }
        for ((digit, part), seen) in (0..PARTS).zip(&mut self.parts).zip(seen) {
            if turn.has_digit(digit) {
                *part = Some(seen);
            }
        }
    }

    /// Takes in the open files that were counted in a turn, and what is missing from them.
    pub fn take_files(
        &mut self,
        turn: &SweepPart,
        counts: &Result<Vec<EntryCount>, AccessError>,
        note: Option<&str>,
        now: u64,
    ) {
        let Ok(counts) = counts else { return };
        let mut seen = [0_u64; PARTS as usize];
        for counted in counts {
            let sum = digit(&counted.path).and_then(|digit| seen.get_mut(digit));
            if let (Some(sum), Ok(count)) = (sum, &counted.count) {
                *sum = sum.saturating_add(u64::from(*count));
            }
        }
        for ((digit, part), seen) in (0..PARTS).zip(&mut self.files.parts).zip(seen) {
            if turn.has_digit(digit) {
                *part = Some(seen);
            }
        }
        self.files.at = now;
        self.files.note = note.unwrap_or_default().replace('\n', " ");
    }

    /// The known facts about the others: of those that it was not the turn of, and of those whose files were not
    /// counted.
    pub fn elsewhere(
        &self,
        turn: &SweepPart,
        files_turn: Option<&SweepPart>,
        watched: Vec<FileContent>,
    ) -> OtherProcesses {
        let looked_at = |digit| turn.has_digit(digit);
        let counted = |digit| files_turn.is_some_and(|turn| turn.has_digit(digit));
        let sum = |value: fn(&Part) -> u64| others(&self.parts, value, looked_at);
        let note = &self.files.note;
        OtherProcesses {
            total: sum(|part| part.total),
            zombies: sum(|part| part.zombies),
            blocked: sum(|part| part.blocked),
            open_files: others(&self.files.parts, |files| *files, counted),
            note: (files_turn.is_none() && !note.is_empty()).then(|| note.clone()),
            watched,
        }
    }

    /// How many processes there are, as far as is known.
    fn total(&self) -> u64 {
        others(&self.parts, |part| part.total, |_| false)
    }
}

/// A sum over the parts that are not left out. Pids are dealt out in turn, so one part is as large as another, and those
/// that were never looked at count like the mean of the others.
fn others<P>(parts: &[Option<P>], value: fn(&P) -> u64, left_out: impl Fn(u8) -> bool) -> u64 {
    let known = parts.iter().flatten().count() as u64;
    let sum = parts.iter().flatten().map(value);
    let mean = sum.fold(0, u64::saturating_add).checked_div(known);
    let wanted = (0..).zip(parts).filter(|(digit, _)| !left_out(*digit));
    wanted
        .map(|(_, part)| part.as_ref().map_or(mean.unwrap_or(0), value))
        .fold(0, u64::saturating_add)
}

/// The last digit of the process of a path `/proc/‹pid›/…`.
fn digit(path: &str) -> Option<usize> {
    let pid = path.strip_prefix("/proc/")?.split('/').next()?;
    let digit = pid.bytes().next_back()?.checked_sub(b'0')?;
    (digit < PARTS).then_some(digit.into())
}

#[cfg(test)]
mod tests;
