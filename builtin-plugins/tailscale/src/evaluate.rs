//! The verdict.

use gpud_builtin_shared::service::Service;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::incidents::clip;
use gpud_sdk::net::Response;
use gpud_sdk::{AccessError, CheckContext, Error, Report};
use serde::{Deserialize, Serialize};

const INACTIVE: &str =
    "tailscaled installed but tailscaled service is not active or failed to check";
const UNKNOWN: &str = "tailscaled service is active but failed to check tailscale status";
const RUNNING: &str = "Running";

/// The source of the answers: the machine, or a test.
pub trait Machine {
    /// Is there a tailscaled?
    ///
    /// # Errors
    /// When this cannot be determined.
    fn is_installed(&self) -> Result<bool, AccessError>;

    /// Reads the state of its service from systemd.
    ///
    /// # Errors
    /// When systemd does not answer.
    fn service(&self) -> Result<Option<Service>, AccessError>;

    /// What tailscaled says of itself: `ipnstate.Status` of Tailscale's source, as JSON.
    ///
    /// # Errors
    /// When there is no answer.
    fn status(&self) -> Result<Response, AccessError>;
}

/// The one field that counts.
#[derive(Deserialize)]
struct Status {
    #[serde(rename = "BackendState")]
    backend_state: String,
}

/// The document, in the words of the wire.
#[derive(Default, Serialize)]
struct Document {
    tailscaled_service_active: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    backend_state: String,
}

/// The outcome: the reason of a healthy machine, or the fault.
struct Verdict {
    healthy: String,
    finding: Option<Finding>,
    error: Option<String>,
    document: Document,
}

impl Verdict {
    fn healthy(reason: &str, document: Document) -> Self {
        Self {
            healthy: reason.to_owned(),
            finding: None,
            error: None,
            document,
        }
    }

    fn unhealthy(event: &'static str, reason: &str, document: Document) -> Self {
        Self {
            finding: Some(Finding::unhealthy("tailscale", event, reason)),
            ..Self::healthy("", document)
        }
    }

    fn because(mut self, error: String) -> Self {
        self.error = Some(error);
        self
    }
}

/// Judges the machine.
///
/// # Errors
/// When tailscaled may be well but cannot be asked.
pub fn evaluate(
    context: &CheckContext,
    machine: &impl Machine,
    before: &Memory,
) -> Result<(Report, Memory), Error> {
    let verdict = verdict(machine)?;
    let found = verdict.finding.as_slice();
    let (mut report, after) = findings::judge(context, &verdict.healthy, found, before);
    let text = serde_json::to_string(&verdict.document).map_err(Error::failed)?;
    let states = std::mem::take(&mut report.states);
    report.states = states
        .into_iter()
        .map(|mut state| {
            state.error = verdict.error.as_deref().map(|error| clip(error).to_owned());
            state.info("data", &text)
        })
        .collect();
    Ok((report, after))
}

fn verdict(machine: &impl Machine) -> Result<Verdict, Error> {
    if !machine.is_installed()? {
        let reason = "tailscaled is not installed";
        return Ok(Verdict::healthy(reason, Document::default()));
    }
    let event = "tailscale_not_running";
    let service = match machine.service() {
        Ok(service) => service.filter(|service| service.loaded),
        Err(error) => {
            let verdict = Verdict::unhealthy(event, INACTIVE, Document::default());
            return Ok(verdict.because(error.text()));
        }
    };
    if let Some(service) = &service
        && !service.active
    {
        return Ok(if service.is_switched_off() {
            let reason = "tailscaled is installed and its service is disabled";
            Verdict::healthy(reason, Document::default())
        } else {
            Verdict::unhealthy(event, INACTIVE, Document::default())
        });
    }
    let document = |active: bool, state: &str| Document {
        tailscaled_service_active: active,
        backend_state: clip(state).to_owned(),
    };
    let state = match machine.status() {
        Ok(answer) => backend_state(&answer),
        // Without a service of systemd nobody says that it should run.
        Err(AccessError::NotFound(_)) if service.is_none() => {
            let reason = "tailscaled is installed and not running; no service of systemd runs it";
            return Ok(Verdict::healthy(reason, Document::default()));
        }
        Err(
            error @ (AccessError::NotFound(_) | AccessError::TimedOut(_) | AccessError::Other(_)),
        ) => Err(error.text()),
        Err(error) => return Err(error.into()),
    };
    Ok(match state {
        Ok(state) if state == RUNNING => {
            let reason = "tailscaled service is active/running";
            Verdict::healthy(reason, document(true, &state))
        }
        Ok(state) => {
            let shown = clip(&state);
            let reason = format!(
                "tailscaled service is active but tailscale is not running (state: {shown})"
            );
            Verdict::unhealthy(event, &reason, document(true, &state))
        }
        Err(error) => {
            let active = service.is_some();
            Verdict::unhealthy("tailscale_status_unknown", UNKNOWN, document(active, ""))
                .because(error)
        }
    })
}

fn backend_state(answer: &Response) -> Result<String, String> {
    if answer.status != 200 {
        return Err(answer.refusal());
    }
    let status: Status = serde_json::from_slice(&answer.body)
        .map_err(|error| format!("status of tailscaled: {error}"))?;
    Ok(status.backend_state)
}

#[cfg(test)]
mod tests;
