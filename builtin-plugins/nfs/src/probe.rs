//! Tries configured volumes: writes a file, reads it back, removes it. Every step has a time limit, and the first
//! failure ends it.

use gpud_sdk::exec::Output;
use gpud_sdk::{AccessError, Health};

use crate::config::{Config, Group, shown};
use crate::memory::Memory;
use crate::mounts;
use crate::script::{self, Step};

/// Time of all programs together after which the remaining volumes wait for the next check, milliseconds. A check has
/// 30 s, and the step under way may take 5.
const MAX_SPENT_MS: u64 = 15_000;
/// How much of a program's message is retained.
const MAX_WORDS: usize = 200;
/// Output that is kept at least, for the words of a failure.
const MIN_OUTPUT: usize = 4_096;
/// Bound of the host on a reason, with some room.
const MAX_REASON_BYTES: usize = 3_500;

/// The machine's answers.
pub trait Machine {
    /// `/proc/‹pid›/mountinfo` of the process whose files are tried.
    ///
    /// # Errors
    /// When it cannot be read.
    fn mountinfo(&self) -> Result<String, AccessError>;

    /// Asks the filesystem at a path for its space, which a network filesystem passes on to its server.
    ///
    /// # Errors
    /// `timed-out` when the server does not answer.
    fn answers(&self, path: &str) -> Result<(), AccessError>;

    /// Runs a step with these variables; at most this many bytes of output are kept.
    ///
    /// # Errors
    /// `timed-out` when it did not end in time.
    fn run(
        &self,
        step: Step,
        variables: &[(&str, &str)],
        max_output: usize,
    ) -> Result<Output, AccessError>;
}

/// The outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Healthy or degraded.
    pub health: Health,
    /// In words.
    pub reason: String,
    /// What the machine reported.
    pub error: Option<String>,
    /// The volume that failed.
    pub volume: Option<String>,
}

impl Outcome {
    fn healthy(reason: String) -> Self {
        Self {
            health: Health::Healthy,
            reason,
            error: None,
            volume: None,
        }
    }
}

/// The caller of a probe, and the time of the call.
#[derive(Debug, Clone, Copy)]
pub struct ProbeContext<'a> {
    /// Name of the file.
    pub id: &'a str,
    /// Unix milliseconds.
    pub now: u64,
    /// Whether a person asked: then volumes that are skipped for a while are probed, too.
    pub insists: bool,
}

struct Failure {
    volume: Option<String>,
    reason: String,
    error: String,
}

type ProbeResult<T> = Result<T, Box<Failure>>;

/// Tries all volumes.
pub fn probe(
    config: &Config,
    moment: ProbeContext<'_>,
    machine: &impl Machine,
    memory: &mut Memory,
) -> Outcome {
    let known = |volume: &String| {
        config
            .groups
            .iter()
            .any(|group| group.volume_path == *volume)
    };
    memory.hung.retain(|volume, _| known(volume));
    if config.groups.is_empty() {
        return Outcome::healthy("no nfs group configs found".to_owned());
    }
    let prober = Prober {
        config,
        moment,
        machine,
    };
    match prober.all(memory) {
        Ok(reason) => Outcome::healthy(clip(reason)),
        Err(failure) => Outcome {
            health: Health::Degraded,
            reason: clip(failure.reason),
            error: Some(clip(failure.error)).filter(|error| !error.is_empty()),
            volume: failure.volume,
        },
    }
}

struct Prober<'a, M> {
    config: &'a Config,
    moment: ProbeContext<'a>,
    machine: &'a M,
}

impl<M: Machine> Prober<'_, M> {
    fn all(&self, memory: &mut Memory) -> ProbeResult<String> {
        let groups = &self.config.groups;
        for group in groups {
            self.validate(group)?;
        }
        for group in groups {
            self.check_mount(group)?;
        }
        let mut spent = 0;
        let (mut done, mut left) = (Vec::new(), Vec::new());
        for group in groups {
            let volume = &group.volume_path;
            if spent > MAX_SPENT_MS {
                left.push(format!("{volume:?}"));
                continue;
            }
            if let Some(hung) = memory.rests(volume, self.moment.now)
                && !self.moment.insists
            {
                let again = hung.next.saturating_sub(self.moment.now) / 1000;
                let error = format!("{}; tried again in {again} s", hung.error);
                return Err(failure(group, hung.reason.clone(), error));
            }
            match self.one(group, &mut spent) {
                Ok(()) => {
                    memory.works(volume);
                    done.push(format!("{volume:?}"));
                }
                Err(StoppedProbe { failure, hung }) => {
                    if hung {
                        memory.hangs(volume, self.moment.now, &failure.reason, &failure.error);
                    } else {
                        memory.works(volume);
                    }
                    return Err(failure);
                }
            }
        }
        let mut reason = format!("correctly read/wrote on {}", done.join(", "));
        if !left.is_empty() {
            reason.push_str(&format!("; no time for {}", left.join(", ")));
        }
        Ok(reason)
    }

    /// Is the configuration usable, is the volume there, and does it answer? Nothing is written yet.
    fn validate(&self, group: &Group) -> ProbeResult<()> {
        let invalid = |error: String| failure(group, "invalid nfs group configs".to_owned(), error);
        group.check().map_err(invalid)?;
        if self.moment.id.is_empty() {
            return Err(invalid("ID is empty".to_owned()));
        }
        match self.machine.answers(&self.place(&group.volume())) {
            // A process without the right to look in this way can still try.
            Ok(()) | Err(AccessError::Denied(_) | AccessError::NotSupported(_)) => Ok(()),
            Err(AccessError::NotFound(_)) => Err(invalid(format!(
                "{:?} volume path does not exist",
                shown(&group.volume_path)
            ))),
            Err(error @ AccessError::TimedOut(_)) => Err(validation_timed_out(group, &error)),
            Err(error) => Err(invalid(error.text())),
        }
    }

    /// Is it a mount of its own, and of a network filesystem? A file on the disk below would prove nothing.
    fn check_mount(&self, group: &Group) -> ProbeResult<()> {
        let volume = &group.volume_path;
        let mut fstype = self.fstype(group)?;
        if fstype.as_deref() == Some(mounts::AUTOFS) {
            let place = self.place(&group.volume());
            match self
                .machine
                .run(Step::Touch, &[(script::VOLUME, &place)], MIN_OUTPUT)
            {
                Err(error @ AccessError::TimedOut(_)) => {
                    return Err(validation_timed_out(group, &error));
                }
                // Whatever it says: what is mounted then counts.
                _ => fstype = self.fstype(group)?,
            }
        }
        let Some(fstype) = fstype else {
            let error = format!("nothing is mounted at {:?}", shown(volume));
            return Err(no_mount(group, error));
        };
        if mounts::is_network(&fstype) {
            return Ok(());
        }
        let reason = format!(
            "The user applied path {volume:?} as NFS volume, but in fact the file system type {fstype:?} is not NFS."
        );
        Err(failure(group, reason, String::new()))
    }

    fn fstype(&self, group: &Group) -> ProbeResult<Option<String>> {
        let text = match self.machine.mountinfo() {
            Ok(text) => text,
            Err(error) => return Err(no_mount(group, error.text())),
        };
        // A root such as /host shows the machine's mounts below it; one such as /proc/1/root has a list of its own.
        let volume = group.volume();
        let below = mounts::fstype(&text, &self.place(&volume));
        let found = below.or_else(|| mounts::fstype(&text, &volume));
        Ok(found.map(str::to_owned))
    }

    fn one(&self, group: &Group, spent: &mut u64) -> Result<(), StoppedProbe> {
        let volume = &group.volume_path;
        let root = self.place(&group.volume());
        let folder = self.place(&group.folder());
        let file = format!("{}/{}", folder.trim_end_matches('/'), self.moment.id);
        let contents = group.file_contents.as_str();
        let max_output = MIN_OUTPUT.max(contents.len().saturating_add(1));
        let mut run = |step, timed_out: String, failed: String| {
            let variables = [
                (script::VOLUME, root.as_str()),
                (script::FOLDER, folder.as_str()),
                (script::FILE, file.as_str()),
                (
                    script::CONTENTS,
                    if step == Step::Write { contents } else { "" },
                ),
            ];
            match self.machine.run(step, &variables, max_output) {
                Ok(output) => {
                    *spent = spent.saturating_add(output.duration_ms);
                    if output.exit_code == Some(0) {
                        return Ok(output);
                    }
                    let mut error = exit_text(&output);
                    if step == Step::Read {
                        error = format!("failed to read file {file}: {error}");
                    }
                    Err(StoppedProbe::by(failure(group, failed, error), false))
                }
                Err(error @ AccessError::TimedOut(_)) => Err(StoppedProbe::by(
                    failure(group, timed_out, error.text()),
                    true,
                )),
                Err(error) => Err(StoppedProbe::by(
                    failure(group, failed, error.text()),
                    false,
                )),
            }
        };
        let silent =
            |what: &str| format!("NFS {what} timed out for {volume} - server may be unresponsive");

        run(
            Step::Create,
            silent("checker creation"),
            format!("failed to create nfs checker for {volume}"),
        )?;
        run(
            Step::Write,
            silent("write"),
            format!("failed to write to nfs checker for {volume}"),
        )?;
        let failed_check = format!("failed to check nfs checker for {volume}");
        let output = run(Step::Read, silent("check"), failed_check.clone())?;
        if output.stdout != contents.as_bytes() {
            let error = format!("file {file:?} has unexpected contents");
            return Err(StoppedProbe::by(failure(group, failed_check, error), false));
        }
        let failed_clean = format!("failed to clean nfs checker for {volume}");
        run(Step::Remove, failed_clean.clone(), failed_clean)?;
        Ok(())
    }

    /// A path of the machine as it is seen from here.
    fn place(&self, path: &str) -> String {
        format!("{}{path}", self.config.host_root)
    }
}

/// Why a probe ended early.
struct StoppedProbe {
    failure: Box<Failure>,
    /// A program did not end in time.
    hung: bool,
}

impl StoppedProbe {
    fn by(failure: Box<Failure>, hung: bool) -> Self {
        Self { failure, hung }
    }
}

fn failure(group: &Group, reason: String, error: String) -> Box<Failure> {
    Box::new(Failure {
        volume: Some(shown(&group.volume_path).to_owned()).filter(|volume| !volume.is_empty()),
        reason,
        error,
    })
}

fn validation_timed_out(group: &Group, error: &AccessError) -> Box<Failure> {
    let reason = "NFS validation timed out - server may be unresponsive".to_owned();
    failure(
        group,
        reason,
        format!("{}: {}", shown(&group.volume_path), error.text()),
    )
}

fn no_mount(group: &Group, error: String) -> Box<Failure> {
    let volume = &group.volume_path;
    failure(
        group,
        format!("failed to find mount target device for {volume}"),
        error,
    )
}

/// How a program ended, with the beginning of what it said.
fn exit_text(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let said: String = said.trim().chars().take(MAX_WORDS).collect();
    match (output.exit_code, output.signal) {
        (Some(code), _) => format!("exit code {code}: {said}"),
        (None, Some(signal)) => format!("ended by signal {signal}: {said}"),
        (None, None) => format!("ended: {said}"),
    }
}

/// Volumes can have long names, and a report with too long a text is refused as a whole.
fn clip(mut text: String) -> String {
    if text.len() > MAX_REASON_BYTES {
        text.truncate(text.floor_char_boundary(MAX_REASON_BYTES));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests;
