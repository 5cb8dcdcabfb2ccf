//! `storage-disks`: health of NVMe, SATA and SAS disks, also of those behind RAID controllers: what they find of
//! themselves, how worn they are, and which errors are new.
//!
//! `smartctl` (smartmontools 7.0 and later) is asked for all of them, `nvme` (nvme-cli) for NVMe where there is no
//! `smartctl`. Both only read. A disk that sleeps is not woken up.

pub mod counters;
pub mod evaluate;
pub mod scan;
pub mod wear;

use gpud_builtin_smart::{bays, devices, health};
use gpud_pack_common::ask::{self, Answer};
use gpud_sdk::files;
use gpud_sdk::findings::{self, Memory};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, state};

use counters::Counters;
use evaluate::{Config, Disk, DiskAnswer, SCHEMA};

/// Disks that are asked.
const MAX_DISKS: usize = 128;
/// For one of them, and for the scan.
const SECONDS: u32 = 6;
/// Disks that do not answer, after which no other is asked: the call has a deadline of its own.
const MAX_SILENT: u32 = 4;
/// Disks change slowly, and each question takes a moment of their time.
const INTERVAL: u64 = 15 * 60;
const COUNTERS: &str = "counters";

struct StorageDisks;

/// One to ask.
struct Target {
    name: String,
    path: String,
    kind: Option<String>,
    is_nvme: bool,
}

impl Checker for StorageDisks {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let targets = targets()?;
        let saved = state::get_string(COUNTERS)?;
        let mut counters = Counters::restore(saved.as_deref());
        let was_none = counters.names().next().is_none();
        if targets.is_empty() && was_none && config.expected == 0 {
            let reason = "no NVMe, SATA or SAS disk on this machine";
            return Ok(findings::unsupported(context, reason));
        }
        let behind = targets.iter().any(|target| target.kind.is_some());
        let bays = bays::read()?;
        let (mut disks, mut silent, mut programs) = (Vec::new(), 0, false);
        for target in targets {
            let mut said = if silent < MAX_SILENT {
                ask(&target, &mut silent)?
            } else {
                Some(DiskAnswer::Nothing(
                    "not asked, since others do not answer".to_owned(),
                ))
            };
            programs |= said.is_some();
            // A controller knows the bays of the disks behind it.
            if let Some(DiskAnswer::Health(answer)) = &mut said
                && let Some(bay) = bays.get(&target.name)
            {
                answer.0.bay.clone_from(bay);
            }
            match said {
                // A virtual drive of a controller, whose disks are asked one by one.
                Some(DiskAnswer::Nothing(why)) if behind && why.contains("megaraid") => {}
                Some(said) => disks.push(Disk {
                    name: target.name,
                    said,
                }),
                None => {}
            }
        }
        let any_health = disks
            .iter()
            .any(|disk| matches!(disk.said, DiskAnswer::Health(_)));
        if !any_health && was_none && config.expected == 0 {
            let reason = match disks.iter().find_map(|disk| match &disk.said {
                DiskAnswer::Nothing(why) => Some(format!("{}: {why}", disk.name)),
                _ => None,
            }) {
                _ if !programs => {
                    "neither smartctl (smartmontools) nor nvme (nvme-cli) can be asked here"
                        .to_owned()
                }
                Some(why) => format!("no disk reports its health here ({why})"),
                None => "no disk reports its health here".to_owned(),
            };
            return Ok(findings::unsupported(context, reason));
        }
        let before = Memory::load()?;
        let (report, after) = evaluate::judge(context, &config, &disks, &mut counters, &before);
        after.keep(&before)?;
        let text = counters.save();
        if saved.as_ref() != Some(&text) {
            state::set(COUNTERS, text.as_bytes())?;
        }
        Ok(report)
    }
}

fn targets() -> Result<Vec<Target>, AccessError> {
    let nvme = files::read_all("/sys/class/nvme/*/transport")?;
    let disks = files::read_all("/sys/block/*/device/uevent")?;
    let plain = devices::all(&nvme, &disks)
        .into_iter()
        .map(|device| Target {
            path: format!("/dev/{}", device.name),
            name: device.name,
            kind: None,
            is_nvme: device.is_nvme,
        });
    let mut targets: Vec<Target> = plain.collect();
    let hosts = files::read_all("/sys/class/scsi_host/*/proc_name")?;
    if !hosts.is_empty() {
        let scanned = ask::ask("smartctl", &["--scan", "--json=c"], SECONDS)?;
        if let Ok(text) = scanned.output() {
            targets.extend(scan::parse(&text).into_iter().map(|one| Target {
                name: one.name(),
                path: one.path,
                kind: Some(one.kind),
                is_nvme: false,
            }));
        }
    }
    targets.truncate(MAX_DISKS);
    Ok(targets)
}

/// Nothing where there is no program for it.
fn ask(target: &Target, silent: &mut u32) -> Result<Option<DiskAnswer>, AccessError> {
    let device = target.kind.as_ref().map(|kind| format!("--device={kind}"));
    let mut arguments = vec![
        "--json=c",
        "--nocheck=standby",
        "--info",
        "--health",
        "--attributes",
    ];
    // The counters of SAS, and sectors that wait to be replaced, are logs of their own.
    arguments.extend(["--log=error", "--log=defects"]);
    arguments.extend(device.as_deref());
    arguments.push(&target.path);
    let health = match ask::ask("smartctl", &arguments, SECONDS)? {
        // Its status has bits for what it found, too.
        Answer::Said(said) => {
            health::smartctl(&said.stdout).map(|health| (health, wear::smartctl(&said.stdout)))
        }
        Answer::Missing if target.is_nvme => {
            let arguments = ["smart-log", "--output-format=json", &target.path];
            match ask::ask("nvme", &arguments, SECONDS)? {
                Answer::Missing => return Ok(None),
                answer => {
                    *silent += u32::from(matches!(answer, Answer::Silent(_)));
                    answer.output().and_then(|text| {
                        health::nvme_cli(&text).map(|health| (health, wear::nvme_cli(&text)))
                    })
                }
            }
        }
        Answer::Missing => return Ok(None),
        Answer::Silent(why) => {
            *silent += 1;
            Err(why)
        }
    };
    Ok(Some(match health {
        Ok(answer) => DiskAnswer::Health(Box::new(answer)),
        Err(why) if why.contains("STANDBY") || why.contains("SLEEP") => DiskAnswer::Asleep,
        Err(why) => DiskAnswer::Nothing(why),
    }))
}

gpud_sdk::export!(StorageDisks: Descriptor::new(
    "storage-disks",
    "Health, wear and new errors of NVMe, SATA and SAS disks, also behind RAID controllers",
)
.interval_seconds(INTERVAL)
.set_healthy_marks()
.metric(evaluate::PASSED, "1 when the disk finds itself healthy")
.metric(evaluate::TEMPERATURE, "Temperature of the disk (degrees Celsius)")
.metric(evaluate::USED, "Used endurance of the disk (percent of what it was made for; can be more than 100)")
.metric(evaluate::SPARE, "Spare blocks that are left (percent); NVMe only")
.metric(evaluate::ERRORS, "Errors of the medium in the life of the disk (number); NVMe and SAS")
.metric(evaluate::REPLACED, "Sectors that were replaced in the life of the disk (number); SATA and SAS")
.metric(evaluate::CABLE, "Transfers that failed between disk and controller (number); SATA only")
.config_schema(SCHEMA));
