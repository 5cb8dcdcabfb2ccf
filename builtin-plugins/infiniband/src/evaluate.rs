//! One check: what is wanted, the ports, the verdict.

use std::collections::BTreeSet;

use gpud_builtin_shared::driver::Driver;
use gpud_sdk::{
    AccessError, CheckContext, Error, Evidence, HealthState, PortId, Recovery, RepairAction,
    Report, Subject,
};

use crate::amd;
use crate::class::{self, Class, Tree};
use crate::config::Config;
use crate::memory::{Memory, Name};
use crate::product::{self, Expected};
use crate::shown;
use crate::wording::{CheckView, ReasonParts};

/// Reason when nothing is wrong.
const OK: &str = "ok; no infiniband port issue";
/// Reason when there is nothing to judge.
const NO_PORTS: &str = "no infiniband port data (skipped evaluation)";
/// Reason when the devices cannot be listed.
const NOT_LOADED: &str = "error loading infiniband class devices";
/// Ports whose files a verdict points to.
const MAX_EVIDENCE: usize = 16;

/// The questions of a check to the machine, besides files.
pub trait Machine: Tree {
    /// Whether there are stored events.
    ///
    /// # Errors
    /// When this cannot be determined, as for all functions that follow.
    fn has_events(&self) -> Result<bool, AccessError>;

    /// Whether anything is kept from check to check; not in `gpud scan`.
    fn remembers(&self) -> bool;

    /// Returns the values that the last check stored.
    ///
    /// # Errors
    /// See above.
    fn saved(&self) -> Result<Option<String>, AccessError>;

    /// Keeps it for the next.
    ///
    /// # Errors
    /// See above.
    fn save(&self, text: &str) -> Result<(), AccessError>;

    /// The machines' `uevent` files of PCI devices, read only where neither the configuration nor an NVIDIA driver says
    /// what is expected.
    ///
    /// # Errors
    /// See above.
    fn pci_devices(&self) -> Result<Vec<String>, AccessError>;

    /// When an operator last set the component healthy, if that was later than this; unix milliseconds.
    ///
    /// # Errors
    /// See above.
    fn set_healthy_after(&self, time: u64) -> Result<Option<u64>, AccessError>;
}

/// The report. Without an NVIDIA driver there is something to watch where an operator or the AMD GPUs of the machine say how
/// many ports it has, or where an event is stored.
///
/// # Errors
/// When gpud cannot determine whether there were events, or a document cannot be written, which its types rule out.
pub fn check(
    context: &CheckContext,
    config: &Config,
    driver: &Driver,
    machine: &impl Machine,
) -> Result<Report, Error> {
    let expected = match config.expected {
        None if !driver.is_there() => amd::expected(machine),
        expected => expected,
    };
    let report = judge(context, config, expected, driver, machine)?;
    let watches = driver.is_there() || expected.is_some_and(|expected| expected.is_set());
    Ok(Report {
        supported: watches || machine.has_events()?,
        ..report
    })
}

fn judge(
    context: &CheckContext,
    config: &Config,
    expected: Option<Expected>,
    driver: &Driver,
    machine: &impl Machine,
) -> Result<Report, Error> {
    let healthy = |reason: &str| Ok(Report::of(HealthState::healthy(context, reason)));
    let remembers = machine.remembers() && (driver.is_there() || expected.is_some());
    let saved = if remembers { machine.saved() } else { Ok(None) };
    let text = saved.as_ref().ok().and_then(Option::as_deref);
    let mut memory = Memory::restore(text);
    // A library that does not answer for a moment must not switch the check off.
    let product = match &driver.product {
        Ok(name) => name.trim().to_owned(),
        Err(_) => memory.product.clone(),
    };
    let expected = expected.or_else(|| product::expected(&product));
    let Some(expected) = expected.filter(Expected::is_set) else {
        return healthy("ports or rate threshold not set (skipped evaluation)");
    };
    if let Some(failed) = driver.failed(context) {
        return Ok(Report::of(failed.action(RepairAction::RebootSystem, "")));
    }

    memory.exclude(&config.exclude_devices);
    let root = &config.class_root;
    let (class, problem) = match read_class(machine, config, &memory) {
        Ok(read) => read,
        Err(error) => {
            let state = HealthState::unhealthy(context, NOT_LOADED)
                .error(format!("could not read {root:?}: {}", error.text()));
            return Ok(Report::of(state));
        }
    };
    if !concerns_ports(config, &class, &memory) {
        let look = CheckView::new(&expected, &class, &memory);
        return without_ports(context, config, &look);
    }

    let broken = |reason: &str, error: &AccessError| {
        let state = HealthState::unhealthy(context, reason).error(error.text());
        Ok(shown::metrics(Report::of(state), &class))
    };
    if let Err(error) = &saved {
        return broken("error scanning ib ports from store", error);
    }
    let now = context.now / 1000;
    if remembers {
        // A mark of the future, from before the clock was set back, must not hide those that come.
        memory.set_healthy = memory.set_healthy.min(context.now);
        match machine.set_healthy_after(memory.set_healthy) {
            Ok(Some(time)) => memory.set_healthy(time),
            Ok(None) => {}
            Err(error) => return broken("error getting ib flap/drop events", &error),
        }
    }
    memory.wake(&context.boot_id, now);
    memory.product = product;
    memory.meet(&class);
    let before_step = CheckView::new(&expected, &class, &memory);
    let failing = before_step.is_failing();
    if remembers {
        memory.step(config, &expected, &class, failing, now);
        let after = memory.save().map_err(Error::failed)?;
        if text != Some(after.as_str())
            && let Err(error) = machine.save(&after)
        {
            return broken("error inserting ib ports into store", &error);
        }
    }
    let look = CheckView::new(&expected, &class, &memory);
    let state = verdict(context, config, &look, problem);
    let data = shown::data(&look, config.expected.is_some()).map_err(Error::failed)?;
    Ok(shown::metrics(Report::of(state.info("data", data)), &class))
}

/// Reads the ports. Where no driver has a device it is as if the folder were empty, said as GPUd says it.
fn read_class(
    machine: &impl Machine,
    config: &Config,
    memory: &Memory,
) -> Result<(Class, Option<String>), AccessError> {
    let root = &config.class_root;
    let class = class::read(
        machine,
        root,
        &config.exclude_devices,
        &memory.silent,
        |device, number| memory.refuses_counters(device, number),
    );
    match class {
        Ok(class) => Ok((class, None)),
        Err(AccessError::NotFound(_)) => {
            let class = Class {
                is_empty: true,
                ..Class::default()
            };
            let missing =
                format!("could not read {root:?}: stat {root}: no such file or directory");
            Ok((class, Some(missing)))
        }
        Err(error) => Err(error),
    }
}

/// Whether there are ports to judge, or ports that are missed: those that were there, or that an operator says are there.
fn concerns_ports(config: &Config, class: &Class, memory: &Memory) -> bool {
    let reads_any = class
        .ports
        .iter()
        .any(|port| port.is_infiniband() || port.link_layer.is_empty())
        || !class.unreadable.is_empty();
    reads_any || memory.knows_ports() || (config.expected.is_some() && class.is_empty)
}

/// The report of a machine without InfiniBand ports; its other ports are shown.
fn without_ports(
    context: &CheckContext,
    config: &Config,
    look: &CheckView<'_>,
) -> Result<Report, Error> {
    let mut state = HealthState::healthy(context, NO_PORTS);
    if !look.class.ports.is_empty() {
        let data = shown::data(look, config.expected.is_some()).map_err(Error::failed)?;
        state = state.info("data", data);
    }
    Ok(Report::of(state))
}

fn verdict(
    context: &CheckContext,
    config: &Config,
    look: &CheckView<'_>,
    problem: Option<String>,
) -> HealthState {
    let failing = look.is_failing();
    let (drops, flaps) = (look.drops(), look.flaps());
    let inspect = !drops.parts.is_empty() || !flaps.parts.is_empty();
    let mut said = ReasonParts::default();
    if failing {
        said = match problem {
            None => look.shortage(),
            Some(_) => ReasonParts::part(NOT_LOADED).and(look.missing()),
        };
    }
    let recovery = recovery(config, look, failing);
    let said = said.and(look.unreadable()).and(drops).and(flaps);
    if !failing && !inspect {
        let note = said.text();
        let state = HealthState::healthy(context, OK);
        // Enough ports are up, so this one does not matter; it is not passed over in silence either.
        return if note.is_empty() {
            state
        } else {
            HealthState::healthy(context, format!("{OK}; {note}"))
        };
    }
    let mut state = HealthState::unhealthy(context, said.text());
    state.error = problem;
    if inspect {
        state = state.action(RepairAction::HardwareInspection, "");
    }
    state.recovery = recovery;
    state.subject = subject(&said.ports);
    state.evidence = evidence(&config.class_root, &said.ports);
    state
}

/// How it clears: by what has to come last.
fn recovery(config: &Config, look: &CheckView<'_>, failing: bool) -> Vec<Recovery> {
    let ports = || look.memory.ports.values();
    let lasts = ports().any(|past| past.drop.is_some_and(|drop| drop.until.is_none()));
    if failing || lasts {
        return vec![Recovery::NextGoodReading];
    }
    let window = config.flap_auto_clear_seconds;
    let mut ways = vec![Recovery::SetHealthy];
    let flaps = ports().filter_map(|past| past.flap);
    if window == 0 && flaps.clone().count() > 0 {
        return ways;
    }
    let drops = ports().filter_map(|past| past.drop.and_then(|drop| drop.until));
    let ends = drops
        .map(|end| end.saturating_add(config.drop_shown_seconds))
        .chain(flaps.map(|flap| flap.last.saturating_add(window)));
    if let Some(end) = ends.max() {
        ways.insert(0, Recovery::At(end.saturating_mul(1000)));
    }
    ways
}

/// The port, if it is one.
fn subject(ports: &BTreeSet<Name>) -> Option<Subject> {
    let mut ports = ports.iter();
    let (device, port) = ports.next()?;
    ports.next().is_none().then(|| {
        Subject::Port(PortId {
            device: device.clone(),
            port: *port,
        })
    })
}

fn evidence(root: &str, ports: &BTreeSet<Name>) -> Vec<Evidence> {
    if ports.is_empty() {
        return vec![Evidence::File(root.to_owned())];
    }
    let files = ports.iter().take(MAX_EVIDENCE).flat_map(|(device, port)| {
        ["state", "phys_state", "rate"]
            .map(|name| Evidence::File(format!("{root}/{device}/ports/{port}/{name}")))
    });
    files.collect()
}

#[cfg(test)]
pub(crate) mod tests;
