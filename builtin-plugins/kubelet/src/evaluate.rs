//! The verdict.
//!
//! The kubelet's own health check decides. Where nobody answers there, systemd tells whether anybody should.

use gpud_builtin_shared::service::Service;
use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::incidents::clip;
use gpud_sdk::net::Response;
use gpud_sdk::{AccessError, CheckContext, Error, Report};
use serde::Serialize;

use crate::config::Config;
use crate::pods::{Pod, Pods};

/// Gauge: pods.
pub const PODS: &str = "kubelet_pods";

const HEALTH_MS: u32 = 8_000;
const PODS_MS: u32 = 8_000;
/// A service this young, in seconds, is not judged yet.
const FRESH: u64 = 300;
/// Failed parts of the health check that a reason names.
const MAX_PARTS: usize = 5;
const ADVICE: &str = "See systemctl status kubelet and journalctl -u kubelet.";

/// The source of the answers: the machine, or a test.
pub trait Machine {
    /// Is there a kubelet?
    ///
    /// # Errors
    /// When this cannot be determined.
    fn is_installed(&self) -> Result<bool, AccessError>;

    /// Has it been configured with the cluster that it belongs to?
    ///
    /// # Errors
    /// When this cannot be determined.
    fn is_set_up(&self) -> Result<bool, AccessError>;

    /// Reads the state of its service from systemd.
    ///
    /// # Errors
    /// When systemd does not answer.
    fn service(&self) -> Result<Option<Service>, AccessError>;

    /// What it answers to a GET request on a port of this machine.
    ///
    /// # Errors
    /// When there is no answer.
    fn get(&self, port: u16, path: &str, timeout_ms: u32) -> Result<Response, AccessError>;
}

#[derive(Serialize)]
struct Document {
    pods: Vec<Pod>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pods_left_out: Option<usize>,
}

/// The result of the health check.
enum Answer {
    /// It is well.
    Well,
    /// It says that it is not, and why.
    Unwell(String),
    /// Somebody listens and does not answer, or answers something else.
    Odd(String),
    /// Nobody listens, or nobody was asked.
    Nobody(Option<String>),
}

/// Judges the machine.
///
/// # Errors
/// When the kubelet may be well but cannot be asked.
pub fn evaluate(
    context: &CheckContext,
    config: &Config,
    machine: &impl Machine,
    before: &Memory,
) -> Result<(Report, Memory), Error> {
    let answer = health(config, machine)?;
    let is_here = match answer {
        Answer::Well | Answer::Unwell(_) => true,
        // Anybody may listen on that port of a machine that is no node.
        Answer::Odd(_) => machine.is_installed()? || machine.is_set_up()?,
        Answer::Nobody(_) => machine.is_installed()?,
    };
    if !is_here {
        return Ok((
            findings::unsupported(context, "there is no kubelet here"),
            Memory::default(),
        ));
    }
    let (pods, unlisted) = match pods(config, machine) {
        Ok(pods) => (pods, None),
        Err(error) => (None, Some(error)),
    };
    let mut healthy = "kubelet answers its health check".to_owned();
    let mut error = None;
    let finding = match answer {
        Answer::Well => None,
        Answer::Unwell(parts) => Some(unhealthy("kubelet_unhealthy", parts)),
        Answer::Odd(text) => {
            error = Some(text);
            let reason =
                "what listens on the kubelet's health port does not answer as a kubelet does";
            Some(unhealthy("kubelet_not_answering", reason))
        }
        Answer::Nobody(text) => {
            let service = machine.service();
            let (reason, finding) = silent(context, config, machine, service, pods.is_some())?;
            // What nobody misses has no error.
            if finding.is_some() {
                error = text;
            }
            healthy = reason;
            finding
        }
    };
    let found = finding.as_slice();
    let (mut report, after) = findings::judge(context, &healthy, found, before);
    if let Some(state) = report.states.first_mut() {
        state.error = error.or(unlisted).map(|error| clip(&error).to_owned());
    }
    if let Some(pods) = pods {
        report = with_pods(report, pods)?;
    }
    Ok((report, after))
}

fn unhealthy(event: &'static str, reason: impl Into<String>) -> Finding {
    Finding::unhealthy("kubelet", event, reason).advice(ADVICE)
}

fn health(config: &Config, machine: &impl Machine) -> Result<Answer, Error> {
    let Some(port) = config.health_port else {
        return Ok(Answer::Nobody(None));
    };
    match machine.get(port, "/healthz", HEALTH_MS) {
        Ok(answer) if answer.status == 200 => Ok(Answer::Well),
        Ok(answer) => {
            let text = String::from_utf8_lossy(&answer.body);
            Ok(match failed_parts(&text) {
                Some(parts) => Answer::Unwell(format!("kubelet says that it is not well: {parts}")),
                None => Answer::Odd(answer.refusal()),
            })
        }
        Err(error @ AccessError::TimedOut(_)) => Ok(Answer::Odd(error.text())),
        Err(error @ (AccessError::Other(_) | AccessError::NotFound(_))) => {
            let text = error.text();
            // Refused, by the kernel or by gpud where an ordinary user listens, is nobody; all other trouble is somebody.
            Ok(if text.contains("refused") {
                Answer::Nobody(Some(text))
            } else {
                Answer::Odd(text)
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// The parts that failed, of lines such as `[-]syncloop failed: reason withheld` (Kubernetes' healthz handler).
fn failed_parts(body: &str) -> Option<String> {
    let lines = body
        .lines()
        .filter_map(|line| line.trim().strip_prefix("[-]"));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    let parts: Vec<&str> = names.take(MAX_PARTS).collect();
    (!parts.is_empty()).then(|| clip(&parts.join(", ")).to_owned())
}

/// A reason for a machine that is well, and what is not, where nobody answers the health check.
fn silent(
    context: &CheckContext,
    config: &Config,
    machine: &impl Machine,
    service: Result<Option<Service>, AccessError>,
    lists_pods: bool,
) -> Result<(String, Option<Finding>), Error> {
    let asked = match config.health_port {
        Some(port) => format!("nobody answers on its health port {port}"),
        None => "its health check is not asked".to_owned(),
    };
    if lists_pods {
        return Ok((format!("kubelet lists its pods; {asked}"), None));
    }
    let service = service?.filter(|service| service.loaded);
    let Some(service) = service else {
        let text = format!("kubelet is installed, {asked}, and no service of systemd runs it");
        let finding = Finding::degraded("kubelet", "kubelet_not_answering", text);
        return Ok((String::new(), Some(finding)));
    };
    if service.is_switched_off() {
        let text = "kubelet is installed, and its service is disabled";
        return Ok((text.to_owned(), None));
    }
    // Packages enable the service; until the node has joined a cluster it ends with an error, over and over.
    if !service.active && !machine.is_set_up()? {
        let text = "kubelet is installed, and this node has not joined a cluster";
        return Ok((text.to_owned(), None));
    }
    let age = service.seconds_since_start(context);
    if (service.active || service.starting) && age.is_some_and(|age| age < FRESH) {
        return Ok((
            format!("kubelet has not been running for long enough; {asked}"),
            None,
        ));
    }
    if service.active && config.health_port.is_none() {
        let text = "kubelet's service is active; its health check is not asked";
        return Ok((text.to_owned(), None));
    }
    let finding = if service.active {
        let text = format!("kubelet's service is active, but {asked}");
        Finding::degraded("kubelet", "kubelet_not_answering", text)
            .advice("If its healthzPort is another, set health_port.")
    } else {
        unhealthy(
            "kubelet_not_running",
            "kubelet installed but kubelet is not running",
        )
    };
    Ok((String::new(), Some(finding)))
}

/// The pods, where the kubelet lists them to everybody; that it does not is what kubeadm sets up.
fn pods(config: &Config, machine: &impl Machine) -> Result<Option<Pods>, String> {
    let Some(port) = config.read_only_port else {
        return Ok(None);
    };
    match machine.get(port, "/pods", PODS_MS) {
        Ok(answer) if answer.status == 200 => Pods::parse(&answer.body).map(Some),
        Ok(answer) => Err(format!("pods are not listed: {}", answer.refusal())),
        Err(error) if error.text().contains("refused") => Ok(None),
        Err(error) => Err(format!("pods are not listed: {}", error.text())),
    }
}

fn with_pods(mut report: Report, pods: Pods) -> Result<Report, Error> {
    for (phase, count) in &pods.by_phase {
        report.add_gauge(PODS, &[("phase", phase)], gauge(*count));
    }
    if pods.shown.is_empty() {
        return Ok(report);
    }
    let document = Document {
        pods: pods.shown,
        pods_left_out: (pods.left_out > 0).then_some(pods.left_out),
    };
    let text = serde_json::to_string(&document).map_err(Error::failed)?;
    let states = std::mem::take(&mut report.states);
    report.states = states
        .into_iter()
        .map(|state| state.info("data", &text))
        .collect();
    Ok(report)
}

#[cfg(test)]
mod tests;
