//! Kernel lines about what is stuck, Linux 5.4 to 6.18.
//!
//! | line | source |
//! |---|---|
//! | `rcu: INFO: ‹rcu› self-detected stall on CPU` | `kernel/rcu/tree_stall.h`, `print_cpu_stall` |
//! | `rcu: INFO: ‹rcu› detected stalls on CPUs/tasks:` | same, `print_other_cpu_stall` |
//! | `rcu: ⇥‹cpu›-‹flags›: (‹n› ticks this GP) …` below both: which processors | same, `print_cpu_stall_info` |
//! | `rcu: INFO: ‹rcu› detected expedited stalls on CPUs/tasks: { ‹cpu›-‹flags› P‹pid› } ‹n› jiffies …` | `kernel/rcu/tree_exp.h`, `synchronize_rcu_expedited_stall` (earlier `synchronize_rcu_expedited_wait`) |
//! | `INFO: ‹rcu› detected stalls on tasks:` | `kernel/rcu/tasks.h`, `check_all_holdout_tasks` |
//! | `NMI watchdog: Watchdog detected hard LOCKUP on cpu ‹n›` | `kernel/watchdog_hld.c`, `watchdog_overflow_callback`, up to 6.4 |
//! | `watchdog: [CPU‹n›: ]Watchdog detected hard LOCKUP on cpu ‹n›` | `kernel/watchdog.c`, `watchdog_hardlockup_check`, from 6.5 |
//! | `watchdog: CPU ‹n› self-detected hard LOCKUP @ …`, `… detected hard LOCKUP on other CPUs ‹list›` | `arch/powerpc/kernel/watchdog.c` |
//! | `BUG: workqueue lockup - pool cpus=‹list› [node=‹n› ]flags=… nice=‹n› stuck for ‹n›s!` | `kernel/workqueue.c`, `wq_watchdog_timer_fn` |
//! | `INFO: task ‹name›:‹pid› blocked [in I/O wait ]for more than ‹n› seconds.` | `kernel/hung_task.c`, `check_hung_task`, later `hung_task_info` |
//! | `clocksource: timekeeping watchdog on CPU‹n›: Marking clocksource '‹name›' as unstable because the skew is too large:` | `kernel/time/clocksource.c`, `clocksource_watchdog` |
//! | `clocksource: timekeeping watchdog on CPU‹n›: … marking [‹name› ]unstable` | same, `cs_watchdog_read` |
//! | `tsc: Marking TSC unstable due to ‹why›` | `arch/x86/kernel/tsc.c`, `mark_tsc_unstable` |
//! | `BUG: unable to handle page fault for address: ‹address›`, `BUG: kernel NULL pointer dereference, address: ‹address›`, up to 5.1 `BUG: unable to handle kernel ‹what› at ‹address›` | `arch/x86/mm/fault.c`, `show_fault_oops` |
//! | `kernel BUG at ‹file›:‹line›!` | `lib/bug.c`, `report_bug` |
//! | `Unable to handle kernel ‹what› at virtual address ‹address›` | `arch/arm64/mm/fault.c`, `die_kernel_fault`; `arch/riscv/mm/fault.c` |
//! | `BUG: Kernel NULL pointer dereference on …`, `BUG: Unable to handle kernel …` | `arch/powerpc/mm/fault.c`, `bad_page_fault` |
//! | `Oops: ‹hex› [#‹n›] …`, `‹trap›: ‹hex› [#‹n›] …`, later `Oops: ‹either› [#‹n›] …` | `arch/x86/kernel/dumpstack.c`, `__die_header`; the traps' words: `arch/x86/kernel/traps.c` |
//! | `Oops: ‹what›, sig: ‹n› [#‹n›]`; `Oops [#‹n›]`, `Oops - ‹what› [#‹n›]` | `arch/powerpc/kernel/traps.c`, `__die`; `arch/riscv/kernel/traps.c`, `die` |
//! | `Internal error: ‹what›: ‹hex› [#‹n›] …` | `arch/arm64/kernel/traps.c`, `__die` |
//!
//! All are matched from the beginning of the line: names chosen by users only ever stand within one. `panic` lines that
//! repeat a lockup (`Kernel panic - not syncing: Hard LOCKUP`) are the `os` check's, soft lockups the `cpu` check's. Traps
//! of programs (`traps: ‹name›[‹pid›] general protection fault ip:…`) are no oops.

use gpud_sdk::Message;

pub use crate::patterns::PATTERNS;

/// A kernel line that the checker knows, with its facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatchedLine<'a> {
    /// A grace period of read-copy-update does not end.
    Rcu {
        /// Which flavour (`rcu_preempt`, `rcu_sched`, `rcu_tasks`).
        flavour: &'a str,
        /// The detector that found it.
        kind: RcuKind,
        /// Processors, where the line itself names them.
        cpus: Vec<u32>,
        /// How long it waited so far, where the line says, in jiffies (1/100 to 1/1000 s).
        jiffies: Option<u64>,
    },
    /// A processor takes no interrupts.
    HardLockup {
        /// Which, as the line has it: one or a list.
        cpus: &'a str,
    },
    /// A pool of workers makes no progress.
    Workqueue {
        /// Its processors as a list, if it is bound to some.
        cpus: Option<&'a str>,
        /// For how long, seconds.
        seconds: Option<u64>,
    },
    /// A task waits without end.
    HungTask {
        /// Its name.
        name: &'a str,
        /// Its number.
        pid: &'a str,
        /// For how long, seconds.
        seconds: u64,
    },
    /// The kernel gave up a clock.
    Clock {
        /// Its name, for example `tsc`; empty where the line does not say.
        name: &'a str,
        /// Why.
        why: &'a str,
    },
    /// The kernel's own code failed; one of the lines that say so.
    Oops {
        /// What it says: the line.
        what: &'a str,
        /// Which of this boot, where the line says.
        number: Option<&'a str>,
    },
}

/// Which processor found an RCU stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RcuKind {
    /// The one that stalls.
    Own,
    /// Another.
    Other,
    /// Another, in an expedited grace period.
    Expedited,
    /// No processor but tasks stall (tasks RCU).
    Tasks,
}

impl RcuKind {
    /// As a fact.
    pub fn word(self) -> &'static str {
        match self {
            Self::Own => "self-detected",
            Self::Other => "detected",
            Self::Expedited => "expedited",
            Self::Tasks => "tasks",
        }
    }
}

/// Reads a line.
pub fn find(line: &str) -> Option<MatchedLine<'_>> {
    rcu(line)
        .or_else(|| hard_lockup(line))
        .or_else(|| workqueue(line))
        .or_else(|| hung_task(line))
        .or_else(|| clock(line))
        .or_else(|| oops(line))
}

/// Is this a line about a hung task?
pub fn is_hung_task(message: &Message) -> bool {
    hung_task(&message.text).is_some()
}

/// Is this a line of an oops?
pub fn is_oops(message: &Message) -> bool {
    oops(&message.text).is_some()
}

fn rcu(line: &str) -> Option<MatchedLine<'_>> {
    let rest = line.strip_prefix("rcu: ").unwrap_or(line);
    let (flavour, rest) = rest.strip_prefix("INFO: ")?.split_once(' ')?;
    if !flavour.starts_with("rcu") {
        return None;
    }
    let forms = [
        ("self-detected stall on CPU", RcuKind::Own),
        ("detected stalls on CPUs/tasks:", RcuKind::Other),
        (
            "detected expedited stalls on CPUs/tasks:",
            RcuKind::Expedited,
        ),
        ("detected stalls on tasks:", RcuKind::Tasks),
    ];
    let (rest, kind) = forms
        .iter()
        .find_map(|(form, kind)| Some((rest.strip_prefix(form)?, *kind)))?;
    let (inside, after) = rest
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'))
        .unwrap_or(("", ""));
    let cpus = inside.split_whitespace().filter_map(cpu_with_flags);
    Some(MatchedLine::Rcu {
        flavour,
        kind,
        cpus: cpus.collect(),
        jiffies: number(after.trim_start()).map(|(number, _)| number),
    })
}

/// The processor that a line below a stall names. The tab stands as `\x09` in the log's text.
pub fn stalled_cpu(line: &str) -> Option<u32> {
    let rest = line.strip_prefix("rcu: ")?;
    let rest = rest.strip_prefix("\\x09").unwrap_or(rest);
    let rest = rest.trim_start_matches([' ', '\t']);
    let (word, _) = rest.split_once(": (")?;
    cpu_with_flags(word)
}

/// `3-....`, `12-...D`, `0-O..!`: a processor and its state, from four flags (three in expedited stalls).
fn cpu_with_flags(word: &str) -> Option<u32> {
    let (cpu, flags) = word.split_once('-')?;
    let known = |flag: u8| {
        matches!(
            flag,
            b'.' | b'!' | b'?' | b'O' | b'o' | b'N' | b'D' | b'0'..=b'9'
        )
    };
    if flags.is_empty() || flags.len() > 5 || !flags.bytes().all(known) {
        return None;
    }
    // A range of processors (`0-15`) is none.
    if flags.bytes().all(|flag| flag.is_ascii_digit()) {
        return None;
    }
    cpu.parse().ok()
}

fn hard_lockup(line: &str) -> Option<MatchedLine<'_>> {
    let rest = line
        .strip_prefix("NMI ")
        .unwrap_or(line)
        .strip_prefix("watchdog: ")?;
    let plain = |rest: &'_ str| -> Option<usize> {
        let cpu = rest.strip_prefix("Watchdog detected hard LOCKUP on cpu ")?;
        (count_digits(cpu) > 0).then_some(rest.len() - cpu.len())
    };
    if let Some(at) = plain(rest) {
        return list(rest.get(at..)?);
    }
    let rest = rest.strip_prefix("CPU")?;
    // One blank on powerpc, none or one elsewhere.
    let apart = rest.strip_prefix(' ');
    let (cpu, after) = split_digits(apart.unwrap_or(rest));
    if cpu.is_empty() {
        return None;
    }
    if apart.is_some() && line.starts_with("watchdog: ") {
        if after.starts_with(" self-detected hard LOCKUP ") {
            return Some(MatchedLine::HardLockup { cpus: cpu });
        }
        if let Some(others) = after.strip_prefix(" detected hard LOCKUP on other CPUs ") {
            return list(others);
        }
    }
    let after = after.strip_prefix(": ")?;
    list(after.get(plain(after)?..)?)
}

fn list(rest: &str) -> Option<MatchedLine<'_>> {
    let end = rest
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b'-'))
        .count();
    let cpus = rest.get(..end)?;
    cpus.starts_with(|c: char| c.is_ascii_digit())
        .then_some(MatchedLine::HardLockup { cpus })
}

fn workqueue(line: &str) -> Option<MatchedLine<'_>> {
    let rest = line.strip_prefix("BUG: workqueue lockup - pool")?;
    let cpus = rest
        .split(' ')
        .find_map(|word| word.strip_prefix("cpus="))
        .filter(|cpus| !cpus.is_empty());
    let seconds = rest
        .split_once(" stuck for ")
        .and_then(|(_, rest)| number(rest))
        .map(|(seconds, _)| seconds);
    Some(MatchedLine::Workqueue { cpus, seconds })
}

/// The name may hold colons and blanks; the number before the phrase is the task's.
fn hung_task(line: &str) -> Option<MatchedLine<'_>> {
    let rest = line.strip_prefix("INFO: task ")?;
    let forms = [
        " blocked for more than ",
        " blocked in I/O wait for more than ",
    ];
    let (task, after) = forms.iter().find_map(|form| rest.split_once(form))?;
    let (name, pid) = task.rsplit_once(':')?;
    if name.is_empty() || pid.is_empty() || count_digits(pid) != pid.len() {
        return None;
    }
    let (seconds, after) = number(after)?;
    after
        .starts_with(" seconds")
        .then_some(MatchedLine::HungTask { name, pid, seconds })
}

fn clock(line: &str) -> Option<MatchedLine<'_>> {
    if let Some(why) = line.strip_prefix("tsc: Marking TSC unstable due to ") {
        return Some(MatchedLine::Clock { name: "tsc", why });
    }
    let rest = line.strip_prefix("clocksource: timekeeping watchdog on CPU")?;
    let (_, rest) = number(rest)?;
    let rest = rest.strip_prefix(": ")?;
    let (name, why) = if let Some(rest) = rest.strip_prefix("Marking clocksource '") {
        let (name, rest) = rest.split_once('\'')?;
        if !rest.starts_with(" as unstable") {
            return None;
        }
        (name, "skew")
    } else {
        // Up to 5.16 `hpet read-back delay of …, marking unstable`, which names the clock compared with, not the one
        // that is given up.
        let (_, marked) = rest.rsplit_once(", marking ")?;
        (
            marked.strip_suffix("unstable")?.trim_end(),
            "read-back delay",
        )
    };
    // The kernel's own test of its watchdog (`kernel/time/clocksource-wdtest.c`).
    let real = name.len() <= 32 && !name.starts_with("wdtest");
    real.then_some(MatchedLine::Clock { name, why })
}

/// Beginnings of lines that say what went wrong.
const OOPS_HEADINGS: [&str; 6] = [
    "BUG: unable to handle page fault for address",
    "BUG: kernel NULL pointer dereference, address: ",
    "BUG: unable to handle kernel ",
    "BUG: Kernel NULL pointer dereference ",
    "BUG: Unable to handle kernel ",
    "Unable to handle kernel ",
];

/// Beginnings of lines that have the number of an oops: those of architectures, and the traps of x86.
const OOPS_NUMBERED: [&str; 9] = [
    "Oops",
    "Internal error: ",
    "general protection fault",
    "invalid opcode: ",
    "divide error: ",
    "double fault: ",
    "stack segment: ",
    "stack guard page: ",
    "kernel stack overflow",
];

fn oops(line: &str) -> Option<MatchedLine<'_>> {
    let begins = |forms: &[&str]| forms.iter().any(|form| line.starts_with(form));
    let number = if begins(&OOPS_HEADINGS) || is_bug(line) {
        None
    } else if begins(&OOPS_NUMBERED) {
        Some(oops_number(line)?)
    } else {
        return None;
    };
    Some(MatchedLine::Oops { what: line, number })
}

/// `kernel BUG at ‹file›:‹line›!`. A process can be called as it begins, so all of it has to be there.
fn is_bug(line: &str) -> bool {
    let place = line.strip_prefix("kernel BUG at ");
    let place = place.and_then(|rest| rest.split(' ').next()?.strip_suffix('!')?.rsplit_once(':'));
    place.is_some_and(|(_, number)| !number.is_empty() && count_digits(number) == number.len())
}

/// The first `[#‹n›]`, with what the kernel prints before it, and behind it nothing but the words that the kernel adds
/// (`SMP NOPTI`). A process can be called `Oops [#1]`, and a network device `[#1]` or `Oops[#1]SMP`.
fn oops_number(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("[#")?;
    let (number, rest) = split_digits(rest);
    let mut flags = rest.strip_prefix(']')?.split_whitespace();
    let is_flag = |word: &str| word.starts_with(|first: char| first.is_ascii_uppercase());
    (ends_as_oops(before) && !number.is_empty() && flags.all(is_flag)).then_some(number)
}

/// `Oops `, `Oops - ‹what› ` of RISC-V, or a text that ends with a colon and a number (`: 0000 `, `, sig: 11 `; on s390
/// `: 0004 ilc:2 `).
fn ends_as_oops(before: &str) -> bool {
    let Some(text) = before.strip_suffix(' ') else {
        return false;
    };
    if text == "Oops" || text.starts_with("Oops - ") {
        return true;
    }
    let text = text
        .rsplit_once(" ilc:")
        .filter(|(_, length)| count_digits(length) == length.len())
        .map_or(text, |(text, _)| text);
    text.rsplit_once(": ").is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn number(text: &str) -> Option<(u64, &str)> {
    let (digits, rest) = split_digits(text);
    Some((digits.parse().ok()?, rest))
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at_checked(count_digits(text))
        .unwrap_or((text, ""))
}

fn count_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests;
