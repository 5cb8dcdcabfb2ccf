//! Which processes one check looks at. Reading the state of a process and counting its files takes the kernel some 15 µs,
//! so on a machine with thousands of them a scheduled check looks at a part, told by the last digit of the pid, and keeps
//! what it saw for the checks in which it is others' turn. Processes that are followed are looked at in every check.

use gpud_sdk::AccessError;
use gpud_sdk::sysfs::{EntryCount, FileContent};

use crate::processes::Processes;

/// Up to this many processes, each check looks at all.
const ALL: u64 = 1_500;
/// Beyond, it looks at about this many: with 10,000 processes each is looked at every ten minutes.
const AT_ONCE: u64 = 1_000;
/// Parts, by last digit.
const PARTS: u8 = 10;

/// What was seen of each part when it was looked at last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sweep {
    next: u8,
    parts: [Option<Part>; PARTS as usize],
}

/// One part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Part {
    total: u64,
    zombies: u64,
    blocked: u64,
    open_files: u64,
}

/// Which parts it is the turn of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// All processes.
    All,
    /// Those whose pid ends with one of these digits.
    Digits(Vec<u8>),
}

/// Sums over the processes that a check does not look at, and those of them that are followed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Elsewhere {
    /// Processes.
    pub total: u64,
    /// Zombies.
    pub zombies: u64,
    /// In uninterruptible sleep when they were looked at.
    pub blocked: u64,
    /// Open files.
    pub open_files: u64,
    /// `stat` of followed processes.
    pub watched: Vec<FileContent>,
}

impl Turn {
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
        let next = lines.next()?.parse().ok()?;
        let mut sweep = Self {
            next,
            ..Self::default()
        };
        for part in &mut sweep.parts {
            let mut numbers = lines.next()?.split(' ').map(|number| number.parse().ok());
            let mut number = || numbers.next().flatten();
            *part = number().and_then(|total| {
                Some(Part {
                    total,
                    zombies: number()?,
                    blocked: number()?,
                    open_files: number()?,
                })
            });
        }
        Some(sweep)
    }

    /// As text; nothing while there are so few processes that all are looked at.
    pub fn save(&self, boot_id: &str) -> Option<String> {
        if self.estimate(|part| part.total) <= ALL {
            return None;
        }
        let mut text = format!("{boot_id}\n{}\n", self.next);
        for part in &self.parts {
            match part {
                None => text.push_str("-\n"),
                Some(part) => text.push_str(&format!(
                    "{} {} {} {}\n",
                    part.total, part.zombies, part.blocked, part.open_files
                )),
            }
        }
        Some(text)
    }

    /// Whose turn it is in a check of the schedule. Others look at all.
    pub fn turn(&mut self) -> Turn {
        match self.estimate(|part| part.total) {
            0..=ALL => Turn::All,
            many => self.digits(u64::from(PARTS) * AT_ONCE / many),
        }
    }

    /// Whose turn it is where all are more than can be looked at.
    pub fn one_part(&mut self) -> Turn {
        self.digits(1)
    }

    fn digits(&mut self, count: u64) -> Turn {
        let count = count.clamp(1, PARTS.into()) as u8;
        if count == PARTS {
            return Turn::All;
        }
        let first = self.next % PARTS;
        self.next = (first + count) % PARTS;
        Turn::Digits((first..first + count).map(|digit| digit % PARTS).collect())
    }

    /// Takes in what was seen in a turn.
    pub fn take(
        &mut self,
        turn: &Turn,
        files: &Result<Vec<FileContent>, AccessError>,
        open_files: &Result<Vec<EntryCount>, AccessError>,
    ) {
        let Ok(files) = files else { return };
        for (digit, part) in (0..PARTS).zip(&mut self.parts) {
            if !turn.has_digit(digit) {
                continue;
            }
            let of_part = |path: &str| pid(path).is_some_and(|pid| pid % 10 == u32::from(digit));
            let processes = Processes::parse(files.iter().filter(|file| of_part(&file.path)));
            let counts = open_files.as_deref().unwrap_or_default().iter();
            let counts = counts.filter(|counted| of_part(&counted.path));
            *part = Some(Part {
                total: processes.total.into(),
                zombies: processes.zombies.into(),
                blocked: processes.blocked.len() as u64,
                open_files: counts
                    .filter_map(|counted| counted.count.as_ref().ok())
                    .map(|&count| u64::from(count))
                    .sum(),
            });
        }
    }

    /// What is known of the others.
    pub fn elsewhere(&self, turn: &Turn, watched: Vec<FileContent>) -> Elsewhere {
        let others = Self {
            next: 0,
            parts: std::array::from_fn(|digit| {
                let part = self.parts.get(digit).copied().flatten();
                match turn.has_digit(digit as u8) {
                    true => Some(Part::default()),
                    // Pids are dealt out in turn, so one part is as large as another.
                    false => part.or_else(|| self.usual()),
                }
            }),
        };
        Elsewhere {
            total: others.estimate(|part| part.total),
            zombies: others.estimate(|part| part.zombies),
            blocked: others.estimate(|part| part.blocked),
            open_files: others.estimate(|part| part.open_files),
            watched,
        }
    }

    /// The mean of the parts that are known.
    fn usual(&self) -> Option<Part> {
        let known = self.parts.iter().flatten().count() as u64;
        let mean = |value: fn(&Part) -> u64| {
            let sum = self.parts.iter().flatten().map(value);
            sum.fold(0, u64::saturating_add).checked_div(known)
        };
        Some(Part {
            total: mean(|part| part.total)?,
            zombies: mean(|part| part.zombies)?,
            blocked: mean(|part| part.blocked)?,
            open_files: mean(|part| part.open_files)?,
        })
    }

    /// A sum over all parts, those that were never looked at like the others.
    fn estimate(&self, value: fn(&Part) -> u64) -> u64 {
        let usual = self.usual().unwrap_or_default();
        let parts = self.parts.iter();
        let values = parts.map(|part| value(part.as_ref().unwrap_or(&usual)));
        values.fold(0, u64::saturating_add)
    }
}

/// The process of a path `/proc/‹pid›/…`.
fn pid(path: &str) -> Option<u32> {
    path.strip_prefix("/proc/")?.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// A machine with processes of pids 1 to `count`, each with two open files, every hundredth a zombie.
    fn seen(count: u32, turn: &Turn) -> (Vec<FileContent>, Vec<EntryCount>) {
        let pids: Vec<u32> = (1..=count).filter(|pid| turn.has(*pid)).collect();
        let stat = |&pid: &u32| {
            let state = if pid % 100 == 0 { 'Z' } else { 'S' };
            FileContent {
                path: format!("/proc/{pid}/stat"),
                content: Ok(format!("{pid} (x) {state} 1").into_bytes()),
            }
        };
        let fds = |&pid: &u32| EntryCount {
            path: format!("/proc/{pid}/fd"),
            count: Ok(2),
        };
        (
            pids.iter().map(stat).collect(),
            pids.iter().map(fds).collect(),
        )
    }

    fn look(sweep: &mut Sweep, count: u32) -> (Turn, Elsewhere, usize) {
        let turn = sweep.turn();
        let (files, counts) = seen(count, &turn);
        let looked_at = files.len();
        sweep.take(&turn, &Ok(files), &Ok(counts));
        let elsewhere = sweep.elsewhere(&turn, Vec::new());
        (turn, elsewhere, looked_at)
    }

    #[test]
    fn few_processes_are_all_looked_at() {
        let mut sweep = Sweep::default();
        for _ in 0..3 {
            let (turn, elsewhere, looked_at) = look(&mut sweep, 1_500);
            assert_eq!(
                (turn, elsewhere, looked_at),
                (Turn::All, Elsewhere::default(), 1_500)
            );
        }
        assert_eq!(sweep.save("b"), None);
    }

    #[test]
    fn many_processes_take_turns_and_the_sums_stay() {
        let mut sweep = Sweep::default();
        assert_eq!(look(&mut sweep, 10_000).0, Turn::All);
        let mut looked_at = BTreeSet::new();
        for _ in 0..10 {
            // As from check to check.
            sweep = Sweep::restore(sweep.save("b").as_deref(), "b");
            let (turn, elsewhere, count) = look(&mut sweep, 10_000);
            let Turn::Digits(digits) = turn else {
                panic!("all at once")
            };
            assert_eq!((digits.len(), count), (1, 1_000));
            looked_at.extend(digits.iter().copied());
            let zombies = if digits == [0] { 0 } else { 100 };
            assert_eq!((elsewhere.total, elsewhere.zombies), (9_000, zombies));
            assert_eq!(elsewhere.open_files, 18_000);
        }
        assert_eq!(looked_at.len(), 10);
        // They end, and it is noticed.
        while let (Turn::Digits(_), ..) = look(&mut sweep, 300) {}
        assert_eq!(sweep.save("b"), None);
    }

    #[test]
    fn parts_by_the_number_of_processes() {
        for (count, parts) in [(1_501, 6), (2_500, 4), (5_000, 2), (10_000, 1), (60_000, 1)] {
            let mut sweep = Sweep::default();
            look(&mut sweep, count);
            let Turn::Digits(digits) = sweep.turn() else {
                panic!("{count}: all at once")
            };
            assert_eq!(digits.len(), parts, "{count}");
        }
    }

    #[test]
    fn more_than_can_be_looked_at_is_estimated() {
        let mut sweep = Sweep::default();
        let turn = sweep.one_part();
        assert_eq!(turn.pattern("stat"), "/proc/*[0]/stat");
        let (files, counts) = seen(80_000, &turn);
        sweep.take(&turn, &Ok(files), &Ok(counts));
        let elsewhere = sweep.elsewhere(&turn, Vec::new());
        assert_eq!((elsewhere.total, elsewhere.open_files), (72_000, 144_000));
        assert!(matches!(sweep.turn(), Turn::Digits(_)));
    }

    #[test]
    fn what_cannot_be_read_changes_nothing() {
        let mut sweep = Sweep::default();
        look(&mut sweep, 5_000);
        let (before, turn) = (sweep.clone(), Turn::All);
        sweep.take(
            &turn,
            &Err(AccessError::Denied("/proc".into())),
            &Ok(Vec::new()),
        );
        assert_eq!(sweep, before);
        let saved = sweep.save("b").unwrap();
        for (text, boot) in [
            (saved.as_str(), "c"),
            ("b\n1\n", "b"),
            ("", "b"),
            ("b\nx\n-\n", "b"),
        ] {
            assert_eq!(Sweep::restore(Some(text), boot), Sweep::default(), "{text}");
        }
        assert_eq!(Sweep::restore(None, "b"), Sweep::default());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(saved in "(b\n)?[0-9 -]{0,30}\n([0-9 -]{0,40}\n){0,12}") {
            let mut sweep = Sweep::restore(Some(&saved), "b");
            let turn = sweep.turn();
            sweep.elsewhere(&turn, Vec::new());
            if let Turn::Digits(digits) = turn {
                prop_assert!((1..10).contains(&digits.len()));
            }
        }
    }
}
