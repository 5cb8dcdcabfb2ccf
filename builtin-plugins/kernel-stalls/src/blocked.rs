//! Counts how often the kernel recently reported tasks of one name as blocked.
//!
//! Kept as text under one key of `state`: the boot id on the first line, then a line per name: times of its reports in
//! unix milliseconds, separated by commas, a tab, and the name.

/// Names that are remembered; the least recent is forgotten first.
const MAX_NAMES: usize = 64;
/// Reports that are remembered per name; the newest. More than any sensible threshold, since the kernel falls silent
/// after `kernel.hung_task_warnings` (10 by default).
const MAX_REPORTS: usize = 100;
/// Longest name that is distinguished, bytes. The kernel's own have at most 15 (`TASK_COMM_LEN`), those of workers with
/// what they do 64; a program that writes into the log can make them longer.
const MAX_NAME: usize = 64;
/// Longest text that is kept, bytes; the host takes 64 KiB, and refuses the whole batch with more.
const MAX_KEPT: usize = 60 * 1024;

/// The counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    boot_id: String,
    /// Name, and times ascending; least recently reported first.
    names: Vec<(String, Vec<u64>)>,
    changed: bool,
}

impl Blocked {
    /// From what was kept. A new boot starts afresh; what cannot be read is left out.
    pub fn restore(kept: Option<&str>, boot_id: &str) -> Self {
        let mut names = Vec::new();
        let mut lines = kept.unwrap_or_default().lines();
        if kept.is_some() && lines.next() == Some(boot_id) {
            for line in lines {
                let Some((times, name)) = line.split_once('\t') else {
                    continue;
                };
                let times: Vec<u64> = times
                    .split(',')
                    .filter_map(|time| time.parse().ok())
                    .collect();
                if !times.is_empty() {
                    names.push((name.to_owned(), times));
                }
            }
        }
        Self {
            boot_id: boot_id.to_owned(),
            names,
            changed: false,
        }
    }

    /// Counts a report; gives how many there were of this name within `window_ms` up to now, this one included.
    pub fn report(&mut self, name: &str, time: u64, window_ms: u64) -> u64 {
        let name = name
            .get(..name.floor_char_boundary(MAX_NAME))
            .unwrap_or(name);
        let since = time.saturating_sub(window_ms);
        self.changed = true;
        let known = self.names.iter().position(|(known, _)| known == name);
        let mut times = known.map_or_else(Vec::new, |at| self.names.remove(at).1);
        times.retain(|earlier| *earlier >= since);
        times.push(time);
        if times.len() > MAX_REPORTS {
            times.remove(0);
        }
        let count = times.len();
        if self.names.len() >= MAX_NAMES {
            self.names.remove(0);
        }
        self.names.push((name.to_owned(), times));
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    /// The state to retain, if anything was reported: as much as there is room for, the most recent names first.
    pub fn changed(&self) -> Option<String> {
        self.changed.then(|| {
            let mut room = MAX_KEPT.saturating_sub(self.boot_id.len());
            let newest_first = self.names.iter().rev().map(|(name, times)| {
                let times: Vec<String> = times.iter().map(u64::to_string).collect();
                format!("\n{}\t{name}", times.join(","))
            });
            let mut lines: Vec<String> = newest_first
                .take_while(|line| {
                    let fits = line.len() <= room;
                    room = room.saturating_sub(line.len());
                    fits
                })
                .collect();
            lines.push(self.boot_id.clone());
            lines.reverse();
            lines.concat()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_by_name_within_the_window_and_this_boot() {
        let mut blocked = Blocked::restore(None, "b1");
        assert_eq!(blocked.changed(), None);
        assert_eq!(blocked.report("nvidia-smi", 1_000, 500), 1);
        assert_eq!(blocked.report("dd", 1_100, 500), 1);
        assert_eq!(blocked.report("nvidia-smi", 1_500, 500), 2);
        let kept = blocked.changed().unwrap();
        assert_eq!(kept, "b1\n1100\tdd\n1000,1500\tnvidia-smi");
        let mut again = Blocked::restore(Some(&kept), "b1");
        assert_eq!(again.changed(), None);
        assert_eq!(again.report("nvidia-smi", 1_501, 500), 2);
        assert_eq!(
            Blocked::restore(Some(&kept), "b2").report("nvidia-smi", 1_600, 500),
            1
        );
    }

    #[test]
    fn is_bounded() {
        let mut blocked = Blocked::restore(None, "b");
        for n in 0..200 {
            blocked.report(&format!("task{n}"), n, 1_000_000);
        }
        for n in 0..200 {
            assert!(blocked.report("same", n, 1_000_000) <= 100);
        }
        let kept = blocked.changed().unwrap();
        assert_eq!(kept.lines().count(), 1 + MAX_NAMES);
        assert!(kept.contains("\ttask199") && !kept.contains("\ttask1\n"));
    }

    #[test]
    fn the_stored_value_fits_the_bound_of_the_host() {
        let mut blocked = Blocked::restore(None, "b");
        let long = "é".repeat(40_000);
        assert_eq!(blocked.report(&long, 5, 10), 1);
        assert_eq!(blocked.report(&long, 6, 10), 2);
        assert!(blocked.changed().unwrap().len() < 100);
        // As many names and reports as are remembered.
        for n in 0..6_400 {
            blocked.report(&format!("{:063}", n % 64), u64::MAX - n, u64::MAX);
        }
        let kept = blocked.changed().unwrap();
        assert!(kept.len() <= MAX_KEPT, "{}", kept.len());
        assert!(kept.starts_with("b\n") && kept.ends_with("63"));
        let mut again = Blocked::restore(Some(&kept), "b");
        assert_eq!(
            again.report(&format!("{:063}", 63), u64::MAX, u64::MAX),
            100
        );
    }

    proptest! {
        #[test]
        fn reads_anything(kept in "[0-9,\t\na-z]{0,80}", name in "[a-z\\\\ ]{0,16}") {
            let mut blocked = Blocked::restore(Some(&kept), "b");
            prop_assert!(blocked.report(&name, 5, 10) >= 1);
        }
    }
}
