//! The verdict.

use std::collections::BTreeMap;

use gpud_builtin_shared::service::Service;
use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::incidents::clip;
use gpud_sdk::net::{GRPC_UNIMPLEMENTED, GrpcResponse};
use gpud_sdk::{AccessError, CheckContext, Error, Health, HealthState, Report};
use serde::Serialize;

use crate::cri::{self, Pod, READY};
use crate::toml;

/// Gauge: sandboxes.
pub const PODS: &str = "containerd_pods";
/// Gauge: containers.
pub const CONTAINERS: &str = "containerd_containers";

/// Checks without a socket from which it counts.
const MAX_MISSING: u32 = 5;
/// A service this young, in seconds, is not judged yet.
const FRESH: u64 = 300;
/// Nanoseconds that NVIDIA's toolkit has to write its configuration.
const TOOLKIT_GRACE_NS: u64 = 600_000_000_000;
const TOOLKIT: &str = "nvidia-container-toolkit-daemonset";
const CONFIG: &str = "/etc/containerd/config.toml";

/// The methods that are called, all without arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Is anybody there, and in which version?
    Version,
    /// All sandboxes.
    ListPodSandbox,
    /// All containers.
    ListContainers,
}

impl Method {
    /// Its full name.
    pub fn path(self) -> &'static str {
        match self {
            Self::Version => "/runtime.v1.RuntimeService/Version",
            Self::ListPodSandbox => "/runtime.v1.RuntimeService/ListPodSandbox",
            Self::ListContainers => "/runtime.v1.RuntimeService/ListContainers",
        }
    }

    /// How long it may take; together with the rest less than a check has.
    pub fn timeout_ms(self) -> u32 {
        match self {
            Self::Version => 5_000,
            Self::ListPodSandbox => 8_000,
            Self::ListContainers => 6_000,
        }
    }
}

/// The source of the answers: the machine, or a test.
pub trait Machine {
    /// Is there a containerd?
    ///
    /// # Errors
    /// When this cannot be determined.
    fn is_installed(&self) -> Result<bool, AccessError>;

    /// Is its socket there?
    ///
    /// # Errors
    /// When this cannot be determined.
    fn has_socket(&self) -> Result<bool, AccessError>;

    /// Is CRI-O the runtime of this machine?
    fn crio_answers(&self) -> bool;

    /// Reads the state of containerd's service from systemd.
    ///
    /// # Errors
    /// When systemd does not answer.
    fn service(&self) -> Result<Option<Service>, AccessError>;

    /// Runs the operator's own command, where there is one, and returns its result.
    ///
    /// # Errors
    /// When it cannot be run or does not end.
    fn command(&self) -> Result<Option<bool>, AccessError>;

    /// Calls containerd and returns its answer.
    ///
    /// # Errors
    /// When there is no answer.
    fn call(&self, method: Method) -> Result<GrpcResponse, AccessError>;

    /// Is there an NVIDIA GPU with its driver?
    fn has_gpu(&self) -> bool;

    /// The content of all files of a pattern; none is an empty list.
    ///
    /// # Errors
    /// When one cannot be read.
    fn files(&self, pattern: &str) -> Result<Vec<String>, AccessError>;
}

/// The outcome of a check.
#[derive(Debug)]
pub struct CheckOutcome {
    /// The report.
    pub report: Report,
    /// How often in a row the socket was missing.
    pub missing: u32,
    /// The findings that are open.
    pub open: Memory,
}

struct Verdict {
    health: Health,
    reason: String,
    error: Option<String>,
    event: &'static str,
    missing: u32,
    pods: Option<Vec<Pod>>,
}

#[derive(Serialize)]
struct Document {
    containerd_service_active: bool,
    pods: Vec<Pod>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pods_left_out: Option<usize>,
}

impl Verdict {
    fn healthy(reason: &str) -> Self {
        Self {
            health: Health::Healthy,
            reason: reason.to_owned(),
            error: None,
            event: "",
            missing: 0,
            pods: None,
        }
    }

    fn unhealthy(event: &'static str, reason: impl Into<String>) -> Self {
        Self {
            health: Health::Unhealthy,
            event,
            ..Self::healthy(&reason.into())
        }
    }

    fn because(mut self, error: impl Into<String>) -> Self {
        self.error = Some(error.into());
        self
    }
}

/// Judges the machine. `missing` is how often in a row the socket was not there so far.
///
/// # Errors
/// When containerd may be well but cannot be asked.
pub fn evaluate(
    context: &CheckContext,
    machine: &impl Machine,
    missing: u32,
    before: &Memory,
) -> Result<CheckOutcome, Error> {
    let verdict = verdict(context, machine, missing)?;
    let finding = match verdict.health {
        Health::Unhealthy => Some(Finding::unhealthy(
            "containerd",
            verdict.event,
            &verdict.reason,
        )),
        Health::Degraded => Some(Finding::degraded(
            "containerd",
            verdict.event,
            &verdict.reason,
        )),
        _ => None,
    };
    let found = finding.as_slice();
    let (mut report, open) = findings::judge(context, &verdict.reason, found, before);
    if found.is_empty() {
        report.states = vec![HealthState::new(context, verdict.health, verdict.reason)];
    }
    if let Some(state) = report.states.first_mut() {
        state.error = verdict.error.map(|error| clip(&error).to_owned());
    }
    if let Some(pods) = verdict.pods {
        report = with_pods(report, pods)?;
    }
    Ok(CheckOutcome {
        report,
        missing: verdict.missing,
        open,
    })
}

fn with_pods(mut report: Report, all: Vec<Pod>) -> Result<Report, Error> {
    let mut pods: BTreeMap<&str, u64> = [(READY, 0), ("SANDBOX_NOTREADY", 0)].into();
    let mut containers: BTreeMap<&str, u64> = [
        ("CONTAINER_CREATED", 0),
        ("CONTAINER_RUNNING", 0),
        ("CONTAINER_EXITED", 0),
        ("CONTAINER_UNKNOWN", 0),
    ]
    .into();
    for pod in &all {
        *pods.entry(pod.state).or_default() += 1;
        for container in &pod.containers {
            *containers.entry(container.state).or_default() += 1;
        }
    }
    for (name, counts) in [(PODS, pods), (CONTAINERS, containers)] {
        for (state, count) in counts {
            report.add_gauge(name, &[("state", state)], gauge(count));
        }
    }
    if !all.is_empty() {
        let (pods, left_out) = cri::shown(all);
        let document = Document {
            // Without it no pods were asked for.
            containerd_service_active: true,
            pods,
            pods_left_out: (left_out > 0).then_some(left_out),
        };
        let text = serde_json::to_string(&document).map_err(Error::failed)?;
        let states = std::mem::take(&mut report.states);
        report.states = states
            .into_iter()
            .map(|state| state.info("data", &text))
            .collect();
    }
    Ok(report)
}

fn verdict(context: &CheckContext, machine: &impl Machine, missing: u32) -> Result<Verdict, Error> {
    if !machine.is_installed()? {
        return Ok(Verdict::healthy("containerd not installed"));
    }
    let socket = machine.has_socket()?;
    if !socket && machine.crio_answers() {
        return Ok(Verdict::healthy(
            "containerd installed but CRI-O is the active container runtime, skipping containerd checks",
        ));
    }
    let service = machine.service();
    let known = service.as_ref().ok().and_then(Option::as_ref);
    let version = match is_answering(machine, socket, missing)? {
        Ok(version) => version,
        Err(trouble) => return Ok(excused(context, known, trouble)),
    };
    let active = match machine.command().transpose() {
        Some(said) => said,
        None => service
            .as_ref()
            // Under another name, or without systemd: it answers, so it runs.
            .map(|service| {
                service
                    .as_ref()
                    .is_none_or(|service| service.active || !service.loaded)
            })
            .map_err(Clone::clone),
    };
    let inactive = "containerd installed but service is not active";
    match active {
        Ok(true) => {}
        Ok(false) => {
            let trouble = Verdict::unhealthy("containerd_not_running", inactive);
            return Ok(excused(context, known, trouble));
        }
        Err(error) => {
            let trouble = Verdict::unhealthy("containerd_not_running", inactive);
            return Ok(excused(context, known, trouble.because(error.text())));
        }
    }
    let pods = match pods(machine)? {
        Ok(pods) => pods,
        Err(verdict) => return Ok(verdict),
    };
    let toolkit = match !pods.is_empty() && machine.has_gpu() {
        true => toolkit(context, machine, &pods, &version),
        false => None,
    };
    Ok(Verdict {
        pods: Some(pods),
        ..toolkit.unwrap_or_else(|| Verdict::healthy("ok"))
    })
}

/// The runtime's version, or what is wrong.
fn is_answering(
    machine: &impl Machine,
    socket: bool,
    missing: u32,
) -> Result<Result<String, Verdict>, Error> {
    if !socket {
        return Ok(Err(without_socket(missing)));
    }
    match machine.call(Method::Version) {
        // A containerd without CRI answers as well, that it has no such thing.
        Ok(answer) => Ok(Ok(cri::runtime_version(&answer.message).unwrap_or_default())),
        Err(error) if is_silence(&error) => {
            let trouble = "containerd installed but not running";
            Ok(Err(
                Verdict::unhealthy("containerd_not_running", trouble).because(error.text())
            ))
        }
        Err(error) => Err(error.into()),
    }
}

fn without_socket(missing: u32) -> Verdict {
    let count = missing.saturating_add(1).min(MAX_MISSING);
    let text = "containerd installed but socket file does not exist";
    let verdict = if count < MAX_MISSING {
        Verdict::healthy(&format!(
            "{text} (detected {count}/{MAX_MISSING} consecutive checks)"
        ))
    } else {
        let reason = format!("{text} (failed continuously for {MAX_MISSING} checks)");
        Verdict::unhealthy("containerd_socket_missing", reason)
    };
    Verdict {
        missing: count,
        ..verdict
    }
}

/// Trouble of a service that was started a moment ago is not judged yet; and nobody misses one that is switched off.
fn excused(context: &CheckContext, service: Option<&Service>, trouble: Verdict) -> Verdict {
    let Some(service) = service else {
        return trouble;
    };
    if service.is_switched_off() {
        return Verdict {
            missing: trouble.missing,
            ..Verdict::healthy("containerd installed but not running (its service is disabled)")
        };
    }
    let age = service.seconds_since_start(context);
    if age.is_some_and(|age| age < FRESH) {
        return Verdict {
            health: Health::Healthy,
            reason: format!("{}; has not been running for long enough", trouble.reason),
            ..trouble
        };
    }
    trouble
}

/// All pods, or what is wrong.
fn pods(machine: &impl Machine) -> Result<Result<Vec<Pod>, Verdict>, Error> {
    let failed = |error: String| {
        let reason = "error listing pod sandbox status";
        Verdict::unhealthy("containerd_pods_unlisted", reason).because(error)
    };
    let mut messages = Vec::new();
    for method in [Method::ListPodSandbox, Method::ListContainers] {
        match machine.call(method) {
            Ok(answer) if answer.status == 0 => messages.push(answer.message),
            Ok(answer) if answer.status == GRPC_UNIMPLEMENTED => {
                let reason = "containerd installed and active but containerd CRI is not enabled";
                return Ok(Err(Verdict::healthy(reason)));
            }
            Ok(answer) => {
                let text = format!(
                    "{}: {} (status {})",
                    method.path(),
                    answer.status_message,
                    answer.status
                );
                return Ok(Err(failed(text)));
            }
            Err(error) if is_silence(&error) => return Ok(Err(failed(error.text()))),
            Err(error) => return Err(error.into()),
        }
    }
    let [sandboxes, containers] = messages.as_slice() else {
        return Ok(Err(failed("an answer is missing".to_owned())));
    };
    let pods = cri::pods(sandboxes, containers);
    Ok(pods.map_err(|_| failed("the answer is no message of the CRI".to_owned())))
}

/// Nobody behind the socket who speaks, rather than somebody whom we may not ask.
fn is_silence(error: &AccessError) -> bool {
    matches!(
        error,
        AccessError::NotFound(_) | AccessError::TimedOut(_) | AccessError::Other(_)
    )
}

/// Describes NVIDIA's container toolkit on a machine with GPUs.
fn toolkit(
    context: &CheckContext,
    machine: &impl Machine,
    pods: &[Pod],
    version: &str,
) -> Option<Verdict> {
    let Some(pod) = pods
        .iter()
        .find(|pod| pod.state == READY && pod.name.contains(TOOLKIT))
    else {
        let reason = "nvidia GPUs found but nvidia-container-toolkit pod is not found";
        return Some(Verdict::healthy(reason));
    };
    let age = context
        .now
        .saturating_mul(1_000_000)
        .saturating_sub(pod.created_at);
    if age <= TOOLKIT_GRACE_NS {
        return None;
    }
    let (files, unread) = config(machine);
    if toml::is_for_nvidia(&files, major(version).is_some_and(|major| major >= 2)) {
        return None;
    }
    Some(match unread {
        // What could not be read may be what is missed.
        Some(error) => Verdict {
            health: Health::Degraded,
            event: "containerd_config_unreadable",
            ..Verdict::healthy("error getting containerd config").because(error.text())
        },
        None => Verdict::unhealthy(
            "containerd_nvidia_runtime_missing",
            format!(
                "nvidia-container-toolkit pod is running but {CONFIG} is missing NVIDIA runtime configuration"
            ),
        ),
    })
}

/// The configuration and what it imports, as far as it can be read, and why not all of it.
fn config(machine: &impl Machine) -> (Vec<String>, Option<AccessError>) {
    let mut files = Vec::new();
    let mut unread = None;
    match machine.files(CONFIG) {
        Ok(main) => files.extend(main),
        Err(error) => unread = Some(error),
    }
    let imports = files.first().map(|main| toml::imports(main));
    for pattern in imports.unwrap_or_default() {
        match machine.files(&pattern) {
            Ok(imported) => files.extend(imported),
            Err(error) => unread = unread.or(Some(error)),
        }
    }
    if files.is_empty() && unread.is_none() {
        unread = Some(AccessError::NotFound(CONFIG.to_owned()));
    }
    (files, unread)
}

/// `v2.1.4` and `1.7.27` have one; a build from a branch has not.
fn major(version: &str) -> Option<u32> {
    let version = version.strip_prefix('v').unwrap_or(version);
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests;
