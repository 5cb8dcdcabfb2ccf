//! The verdict. Questions come one after another: what is not asked, is not started either, for the daemon's socket
//! may be systemd's, which starts the daemon for any client that connects.

use gpud_builtin_shared::service::Service;
use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::incidents::clip;
use gpud_sdk::net::Response;
use gpud_sdk::{AccessError, CheckContext, Error, Health, HealthState, Report};
use serde::Serialize;

use crate::containers::{Container, Containers};

/// Gauge: containers.
pub const CONTAINERS: &str = "docker_containers";

/// Milliseconds for the daemon to say that it is there.
const PING_MS: u32 = 8_000;
/// Milliseconds for the list; together with the rest less than a check has.
const LIST_MS: u32 = 15_000;
const NOT_INSTALLED: &str = "docker not installed";
const NOT_RUNNING: &str = "docker installed but docker is not running";
const SERVICE: &str = "docker installed but docker service is not active or failed to check";
const LISTING: &str = "error listing containers";
const TOO_OLD: &str = "not supported; needs upgrading docker daemon in the host";
const LOST: &str = "connection error to docker daemon";

/// The source of the answers: the machine, or a test.
pub trait Machine {
    /// Is there a Docker daemon or its socket?
    ///
    /// # Errors
    /// When this cannot be determined.
    fn is_installed(&self) -> Result<bool, AccessError>;

    /// Reads the state of its service from systemd.
    ///
    /// # Errors
    /// When systemd does not answer.
    fn service(&self) -> Result<Option<Service>, AccessError>;

    /// Sends a GET request to the daemon and returns its answer.
    ///
    /// # Errors
    /// When there is no answer.
    fn get(&self, path: &str, timeout_ms: u32) -> Result<Response, AccessError>;
}

/// The outcome.
struct Verdict {
    health: Health,
    reason: &'static str,
    error: Option<String>,
    listed: Option<Containers>,
}

impl Verdict {
    fn new(health: Health, reason: &'static str) -> Self {
        Self {
            health,
            reason,
            error: None,
            listed: None,
        }
    }

    fn because(self, error: impl Into<Option<String>>) -> Self {
        Self {
            error: error.into(),
            ..self
        }
    }
}

#[derive(Serialize)]
struct Document {
    docker_service_active: bool,
    containers: Vec<Container>,
    #[serde(skip_serializing_if = "Option::is_none")]
    containers_left_out: Option<usize>,
}

/// Judges the machine.
///
/// # Errors
/// When the daemon may be well but cannot be asked.
pub fn evaluate(
    context: &CheckContext,
    machine: &impl Machine,
    before: &Memory,
) -> Result<(Report, Memory), Error> {
    let verdict = verdict(machine)?;
    let finding = match (&verdict.health, verdict.reason) {
        (Health::Unhealthy, reason @ LISTING) => Some(Finding::unhealthy(
            "containers",
            "docker_containers_unlisted",
            reason,
        )),
        (Health::Unhealthy, reason) => {
            Some(Finding::unhealthy("daemon", "docker_not_running", reason))
        }
        (Health::Degraded, reason) => Some(Finding::degraded(
            "daemon",
            "docker_connection_lost",
            reason,
        )),
        _ => None,
    };
    let found = finding.as_slice();
    let (mut report, after) = findings::judge(context, verdict.reason, found, before);
    if found.is_empty() {
        let state = HealthState::new(context, verdict.health, verdict.reason);
        report.states = vec![state];
    }
    if let Some(state) = report.states.first_mut() {
        state.error = verdict.error.map(|error| clip(&error).to_owned());
    }
    if let Some(containers) = verdict.listed {
        for (state, count) in &containers.by_state {
            report.add_gauge(CONTAINERS, &[("state", state)], gauge(*count));
        }
        if !containers.shown.is_empty() {
            let document = Document {
                // Without it no containers were asked for.
                docker_service_active: true,
                containers: containers.shown,
                containers_left_out: (containers.left_out > 0).then_some(containers.left_out),
            };
            let text = serde_json::to_string(&document).map_err(Error::failed)?;
            let states = std::mem::take(&mut report.states);
            let shown = states.into_iter().map(|state| state.info("data", &text));
            report.states = shown.collect();
        }
    }
    Ok((report, after))
}

fn verdict(machine: &impl Machine) -> Result<Verdict, Error> {
    if !machine.is_installed()? {
        return Ok(Verdict::new(Health::Healthy, NOT_INSTALLED));
    }
    let service = machine.service();
    let known = service.as_ref().ok().and_then(Option::as_ref);
    if known.is_some_and(|service| service.loaded && service.triggered && !service.active) {
        return Ok(not_running(known, None::<String>));
    }
    match machine.get("/_ping", PING_MS) {
        Ok(answer) if answer.status == 200 => {}
        Ok(answer) => return Ok(not_running(known, answer.refusal())),
        Err(error) if is_silence(&error) => return Ok(not_running(known, error.text())),
        Err(error) => return Err(error.into()),
    }
    match service {
        Ok(Some(service)) if service.loaded && !service.active => {
            return Ok(Verdict::new(Health::Unhealthy, SERVICE));
        }
        Err(error) => {
            return Ok(Verdict::new(Health::Unhealthy, SERVICE).because(error.text()));
        }
        // Under another name, or without systemd: it answers, so it runs.
        Ok(_) => {}
    }
    let answer = match machine.get("/containers/json?all=true", LIST_MS) {
        Ok(answer) => answer,
        Err(error @ AccessError::TimedOut(_)) => {
            return Ok(Verdict::new(Health::Unhealthy, LISTING).because(error.text()));
        }
        Err(error) if is_silence(&error) => {
            return Ok(Verdict::new(Health::Degraded, LOST).because(error.text()));
        }
        Err(error) => return Err(error.into()),
    };
    if answer.status != 200 {
        let refusal = answer.refusal();
        let words = ["client version", "is too new"];
        return Ok(if words.iter().all(|words| refusal.contains(words)) {
            Verdict::new(Health::Healthy, TOO_OLD).because(refusal)
        } else {
            Verdict::new(Health::Unhealthy, LISTING).because(refusal)
        });
    }
    Ok(match Containers::parse(&answer.body) {
        Ok(containers) => Verdict {
            listed: Some(containers),
            ..Verdict::new(Health::Healthy, "ok")
        },
        Err(error) => Verdict::new(Health::Unhealthy, LISTING).because(error),
    })
}

/// Nobody behind the socket who speaks, rather than somebody whom we may not ask.
fn is_silence(error: &AccessError) -> bool {
    matches!(
        error,
        AccessError::NotFound(_) | AccessError::TimedOut(_) | AccessError::Other(_)
    )
}

fn not_running(service: Option<&Service>, error: impl Into<Option<String>>) -> Verdict {
    match service {
        Some(service) if service.is_switched_off() => Verdict::new(
            Health::Healthy,
            "docker installed but docker is not running (its service is disabled)",
        ),
        Some(service) if service.starting => {
            Verdict::new(Health::Initializing, "docker is being started").because(error)
        }
        _ => Verdict::new(Health::Unhealthy, NOT_RUNNING).because(error),
    }
}

#[cfg(test)]
mod tests;
