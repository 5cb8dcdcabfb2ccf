//! From readings and what is remembered to a report.

use gpud_builtin_nvidia_common::{Gpu, GpuFinding, GpuReadings, state, text, trouble, with_data};
use gpud_builtin_shared::time::rfc3339;
use gpud_sdk::{
    AccessError, CheckContext, Event, EventType, Evidence, Recovery, RepairAction, Report,
};
use serde::Serialize;

use crate::minutes::{Minutes, TOO_MANY, WINDOW_MINUTES};
use crate::reasons::{self, HW_POWER_BRAKE, HW_SLOWDOWN, HW_THERMAL};

/// Name of the events.
pub const EVENT: &str = "hw_slowdown";
/// The reading behind everything.
const READING: &str = "nvmlDeviceGetCurrentClocksEventReasons";
/// Seconds within which a GPU's events of the same reasons are one, with a count.
const WINDOW: u32 = 3_600;
/// Drivers before this one do not tell.
const FIRST_DRIVER: u32 = 535;

/// Names and help of the metrics.
pub const METRICS: [(&str, &str); 3] = [
    (
        "accelerator_nvidia_clock_hw_slowdown",
        "1 when hardware slows the GPU down, by GPU",
    ),
    (
        "accelerator_nvidia_clock_hw_slowdown_thermal",
        "1 when hardware slows the GPU down for its temperature, by GPU",
    ),
    (
        "accelerator_nvidia_clock_hw_slowdown_power_brake",
        "1 when a signal from outside slows the GPU down, by GPU",
    ),
];
/// Their bits.
const BITS: [u64; 3] = [HW_SLOWDOWN, HW_THERMAL, HW_POWER_BRAKE];

#[derive(Serialize)]
struct Document<'a> {
    clock_events: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    time: &'a str,
    uuid: &'a str,
    bus_id: &'a str,
    reasons_bitmask: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hw_slowdown_reasons: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<String>,
    hw_slowdown: bool,
    hw_thermal_slowdown: bool,
    hw_slowdown_power_brake: bool,
    supported: bool,
}

fn row<'a>(time: &'a str, gpu: &'a Gpu, reading: Option<u64>) -> Row<'a> {
    let bits = reading.unwrap_or(0);
    Row {
        time,
        uuid: &gpu.uuid,
        bus_id: &gpu.bus_id,
        reasons_bitmask: bits,
        hw_slowdown_reasons: reasons::by_hardware(&gpu.uuid, bits),
        reasons: reasons::otherwise(&gpu.uuid, bits),
        hw_slowdown: bits & HW_SLOWDOWN != 0,
        hw_thermal_slowdown: bits & HW_THERMAL != 0,
        hw_slowdown_power_brake: bits & HW_POWER_BRAKE != 0,
        supported: reading.is_some(),
    }
}

/// The GPUs that hardware slows down now, with the bits that say so.
fn slowed(seen: &GpuReadings<Option<u64>>) -> impl Iterator<Item = (&Gpu, u64)> {
    let hardware = BITS.iter().fold(0, |all, bit| all | bit);
    seen.answered().filter_map(move |(gpu, reading)| {
        let bits = (*reading)? & hardware;
        (bits != 0).then_some((gpu, bits))
    })
}

fn event(context: &CheckContext, gpu: &Gpu, bits: u64) -> Event {
    let message = text::join(reasons::by_hardware(&gpu.uuid, bits), ", ");
    let mut event = Event::new(context.now, EVENT, EventType::Warning, message)
        .merged_by(format!("{} {bits:#x}", gpu.uuid), WINDOW);
    event.subject = Some(gpu.subject());
    event.evidence = vec![Evidence::Nvml(format!("{READING} {}", gpu.uuid))];
    event.extra_info = vec![
        ("data_source".to_owned(), "nvml".to_owned()),
        ("gpu_uuid".to_owned(), gpu.uuid.clone()),
    ];
    event
}

/// How often it was, in the words of both verdicts.
fn frequency(count: u64, verdict: &str) -> String {
    // Tenths, since the window has ten minutes.
    let (whole, tenths) = (count / WINDOW_MINUTES, count % WINDOW_MINUTES);
    format!(
        "hw slowdown events frequency per minute {whole}.{tenths}0 (total events per minute count {count}) {verdict} threshold 0.60 for the last 10m0s"
    )
}

/// Why no GPU tells.
fn unsupported(driver_version: Result<String, AccessError>) -> String {
    let version = driver_version.unwrap_or_default();
    let major = version.split('.').next().unwrap_or_default();
    match major.parse::<u32>() {
        Ok(major) if major < FIRST_DRIVER => {
            format!("clock events not supported for driver version {version}")
        }
        _ => "clock events not supported".to_owned(),
    }
}

/// The report, and what is to be given as `past` next time. An answer is `None` where the GPU does not tell. Without
/// anything remembered (`gpud scan`) there is no verdict, only what is now.
pub fn evaluate(
    context: &CheckContext,
    seen: &GpuReadings<Option<u64>>,
    past: Option<Minutes>,
    driver_version: impl FnOnce() -> Result<String, AccessError>,
) -> (Report, Option<Minutes>) {
    let seconds = context.now / 1000;
    let minutes = past.map(|past| {
        let mut minutes = past.at(seconds);
        for (gpu, _) in slowed(seen) {
            minutes.add(&gpu.uuid, seconds);
        }
        minutes
    });
    let mut findings = Vec::new();
    let none_tells = !seen.gpus.is_empty() && seen.answered().all(|(_, reading)| reading.is_none());
    let healthy = match &minutes {
        _ if none_tells => unsupported(driver_version()),
        None => now_only(seen),
        Some(minutes) => match minutes.count() {
            0 => "no clock events found".to_owned(),
            count if count < TOO_MANY => frequency(count, "is less than"),
            count => {
                let gpus = seen.gpus.iter().map(|asked| &asked.gpu);
                let gpus = gpus.filter(|gpu| minutes.has(&gpu.uuid)).cloned();
                let finding = GpuFinding::unhealthy(frequency(count, "exceeded"))
                    .action(RepairAction::HardwareInspection, "")
                    .about(gpus)
                    .read_from(READING);
                findings.push(finding);
                String::new()
            }
        },
    };
    let too_often = !findings.is_empty();
    let trouble = trouble::findings(&seen.gpus, "error getting clock events supported");
    findings.extend(trouble);
    let mut state = state(context, healthy, findings);
    if too_often {
        state = state.clears_by(Recovery::SetHealthy);
    }
    let time = rfc3339(seconds);
    let clock_events: Vec<_> = seen
        .answered()
        .map(|(gpu, reading)| row(&time, gpu, *reading))
        .collect();
    if !clock_events.is_empty() {
        state = with_data(state, &Document { clock_events });
    }
    let mut report = Report::of(state);
    report.events = slowed(seen)
        .map(|(gpu, bits)| event(context, gpu, bits))
        .collect();
    let answered = seen.answered();
    for (gpu, bits) in answered.filter_map(|(gpu, reading)| Some((gpu, (*reading)?))) {
        let labels = [("uuid", gpu.uuid.as_str())];
        for ((name, _), bit) in METRICS.iter().zip(BITS) {
            let value = f64::from(u8::from(bits & bit != 0));
            report.add_gauge(name, &labels, value);
        }
    }
    (report, minutes)
}

/// Describes one reading, which is no verdict.
fn now_only(seen: &GpuReadings<Option<u64>>) -> String {
    let uuids = text::join(slowed(seen).map(|(gpu, _)| &gpu.uuid), ", ");
    match uuids.is_empty() {
        true => "no clock events found".to_owned(),
        false => format!("hw slowdown now, which is judged over 10m0s by the daemon: {uuids}"),
    }
}

#[cfg(test)]
mod tests;
