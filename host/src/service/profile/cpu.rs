//! Processor time by thread, from `/proc/self/task/‹thread›/stat` (proc_pid_stat(5)).

use std::{collections::BTreeMap, fs, io, path::Path, time::Duration};

use super::pprof::{Profile, ValueType};
use super::{OWN, now, sample};

/// Time between two looks. Threads that begin and end between two of them are seen in the process's own sum only.
const PERIOD: Duration = Duration::from_millis(100);
/// Threads that are looked at.
const MAX_THREADS: usize = 4096;

/// Processor time in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Ticks {
    user: u64,
    kernel: u64,
}

impl Ticks {
    fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            kernel: self.kernel.saturating_sub(earlier.kernel),
        }
    }

    fn add(&mut self, other: Self) {
        self.user = self.user.saturating_add(other.user);
        self.kernel = self.kernel.saturating_add(other.kernel);
    }
}

/// Every thread by its number: its name and what it used up to now; and the sum of the process, ended threads included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Look {
    threads: BTreeMap<u32, (String, Ticks)>,
    process: Ticks,
}

/// What is used from now on for `duration`: stacks of `user` or `kernel` and the thread's name. Threads of one name are
/// taken together.
///
/// # Errors
/// The kernel does not tell.
pub async fn cpu(duration: Duration) -> io::Result<Profile> {
    let time = now();
    let started = tokio::time::Instant::now();
    let ends = started + duration;
    let mut looks = Differences::new(look(Path::new(OWN))?);
    while tokio::time::Instant::now() < ends {
        tokio::time::sleep_until((tokio::time::Instant::now() + PERIOD).min(ends)).await;
        looks.next(look(Path::new(OWN))?);
    }
    let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let duration = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Ok(looks.profile(time, duration, tick))
}

/// What was used between the looks.
struct Differences {
    first: Ticks,
    last: Look,
    by_name: BTreeMap<String, Ticks>,
}

impl Differences {
    fn new(first: Look) -> Self {
        Self {
            first: first.process,
            last: first,
            by_name: BTreeMap::new(),
        }
    }

    fn next(&mut self, look: Look) {
        for (thread, (name, ticks)) in &look.threads {
            let before = self.last.threads.get(thread);
            let before = before.map(|(_, ticks)| *ticks).unwrap_or_default();
            self.by_name
                .entry(name.clone())
                .or_default()
                .add(ticks.since(before));
        }
        self.last = look;
    }

    /// `tick`: nanoseconds of one.
    fn profile(&self, time: u64, duration: u64, tick: u64) -> Profile {
        let mut seen = Ticks::default();
        let mut samples = Vec::new();
        let mut push = |name: &str, ticks: Ticks| {
            for (mode, count) in [("user", ticks.user), ("kernel", ticks.kernel)] {
                if count > 0 {
                    samples.push(sample(
                        &[mode, name],
                        vec![count, count.saturating_mul(tick)],
                    ));
                }
            }
        };
        for (name, ticks) in &self.by_name {
            seen.add(*ticks);
            push(name, *ticks);
        }
        push(
            "(threads that ended)",
            self.last.process.since(self.first).since(seen),
        );
        Profile {
            types: vec![
                ValueType {
                    kind: "samples",
                    unit: "count",
                },
                ValueType {
                    kind: "cpu",
                    unit: "nanoseconds",
                },
            ],
            samples,
            time,
            duration,
            comment: "processor time by thread; perf has stacks".to_owned(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the daemon's own threads")]
fn look(process: &Path) -> io::Result<Look> {
    let (_, sum) = parse(&fs::read_to_string(process.join("stat"))?).unwrap_or_default();
    let mut threads = BTreeMap::new();
    for entry in fs::read_dir(process.join("task"))?
        .flatten()
        .take(MAX_THREADS)
    {
        let Some(thread) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // A thread may end between the two.
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let Some(found) = parse(&stat) {
            threads.insert(thread, found);
        }
    }
    Ok(Look {
        threads,
        process: sum,
    })
}

/// `‹id› (‹name›) ‹state› …`: the name may hold anything, so it ends at the last `)`. Fields 14 and 15 are the times.
fn parse(stat: &str) -> Option<(String, Ticks)> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let mut fields = after.split_ascii_whitespace().skip(11);
    let mut number = || fields.next()?.parse::<u64>().ok();
    let ticks = Ticks {
        user: number()?,
        kernel: number()?,
    };
    Some((name.to_owned(), ticks))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn ticks(user: u64, kernel: u64) -> Ticks {
        Ticks { user, kernel }
    }

    #[test]
    fn lines_of_stat() {
        let line = "7 (gpud ) (x) S 1 2 3 4 5 6 7 8 9 10 21 4 0 0 20 0 9 0 100\n";
        assert_eq!(parse(line), Some(("gpud ) (x".to_owned(), ticks(21, 4))));
        for odd in [
            "",
            "7 (gpud",
            "7 (gpud) S 1 2",
            "7 gpud S 1 2 3 4 5 6 7 8 9 10 21 4",
        ] {
            assert_eq!(parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn differences_between_looks() {
        let look = |process, threads: &[(u32, &str, Ticks)]| Look {
            process,
            threads: threads
                .iter()
                .map(|(id, name, ticks)| (*id, ((*name).to_owned(), *ticks)))
                .collect(),
        };
        let mut looks = Differences::new(look(ticks(100, 10), &[(1, "worker", ticks(50, 5))]));
        looks.next(look(
            ticks(104, 12),
            &[(1, "worker", ticks(52, 5)), (2, "worker", ticks(1, 1))],
        ));
        // Thread 2 has ended, with what it used since; number 1 is another thread now.
        looks.next(look(ticks(110, 13), &[(1, "store", ticks(0, 1))]));
        let profile = looks.profile(1, 2, 10_000_000);
        assert_eq!(
            profile.to_folded(),
            "gpud;user;(threads that ended) 70000000\ngpud;user;worker 30000000\n\
             gpud;kernel;(threads that ended) 20000000\ngpud;kernel;worker 10000000\n"
        );
    }

    #[tokio::test]
    async fn this_process_at_work() {
        let worker = std::thread::Builder::new().name("gpud-busy".to_owned());
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let busy = worker
            .spawn(move || {
                while stopped.try_recv().is_err() {
                    std::hint::black_box((0..100_000_u64).sum::<u64>());
                }
            })
            .unwrap();
        // A busy machine may give that thread little: look until it got something.
        let mut found = String::new();
        for _ in 0..50 {
            found = cpu(Duration::from_millis(200)).await.unwrap().to_folded();
            if found.contains("gpud;user;gpud-busy ") {
                break;
            }
        }
        stop.send(()).unwrap();
        busy.join().unwrap();
        assert!(found.contains("gpud;user;gpud-busy "), "{found}");
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in r"([0-9]{1,3} \(\PC{0,9}\) S( [0-9]{1,21}){0,20}|.*)") {
            parse(&text);
        }
    }
}
