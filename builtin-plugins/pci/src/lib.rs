//! `pci`: is PCIe Access Control Services (ACS) switched on, which sends traffic between GPUs through the root complex?
//!
//! Reads the configuration space of every device from sysfs, so no program but `systemd-detect-virt` is needed.

pub mod acs;
pub mod device;
pub mod evaluate;
pub mod ids;

use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Report, exec, log, state, sysfs,
};

use device::{Device, NoConfigSpace};
use evaluate::Machine;
use ids::Ids;

/// Reading a configuration space costs a millisecond per device, and ACS changes when somebody changes it.
const INTERVAL_SECONDS: u64 = 600;
/// Four nodes' worth of GPUs, switches and virtual functions; what a call may ask of the host is bounded.
const MAX_DEVICES: usize = 2_000;
const MAX_ENTRIES: u32 = 16_384;
const MAX_SMALL_BYTES: u32 = 4_096;
/// The extended configuration space.
const MAX_CONFIG_BYTES: u32 = 4_096;
/// It has some 1.5 MiB.
const MAX_IDS_BYTES: u32 = 4 << 20;
/// It asks the firmware and takes some milliseconds.
const DETECT_VIRT_TIMEOUT_MS: u32 = 5_000;
/// Where distributions keep the names of PCI devices.
const IDS_FILES: [&str; 4] = [
    "/usr/share/misc/pci.ids",
    "/usr/share/hwdata/pci.ids",
    "/usr/share/pci.ids",
    "/var/lib/pciutils/pci.ids",
];

/// The checker.
pub struct Pci;

impl Checker for Pci {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let node = Node {
            boot_id: &context.boot_id,
        };
        Ok(evaluate::check(context, &node))
    }
}

/// The machine.
struct Node<'a> {
    boot_id: &'a str,
}

impl Machine for Node<'_> {
    /// Asked once per boot: it takes milliseconds, and a machine stays what it is.
    fn virtualization(&self, arguments: &[&str]) -> Result<String, AccessError> {
        let key = format!("virtualization {}", arguments.join(" "));
        let kept = state::get_string(&key)?;
        let kept = kept.as_deref().and_then(|kept| kept.split_once('\n'));
        if let Some((boot_id, answer)) = kept
            && boot_id == self.boot_id
            && !boot_id.is_empty()
        {
            return Ok(answer.to_owned());
        }
        let answer = self.detect(arguments)?;
        let answer: String = answer.chars().take(MAX_ANSWER).collect();
        let boot_id = self.boot_id;
        state::set(&key, format!("{boot_id}\n{answer}").as_bytes())?;
        Ok(answer)
    }

    fn devices(&self) -> Result<Vec<Device>, AccessError> {
        list_devices()
    }
}

/// Longest answer that is kept, characters; systemd's own are a word.
const MAX_ANSWER: usize = 64;

impl Node<'_> {
    fn detect(&self, arguments: &[&str]) -> Result<String, AccessError> {
        let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
        let options = exec::Options {
            timeout_ms: DETECT_VIRT_TIMEOUT_MS,
            max_output_bytes: MAX_SMALL_BYTES,
            environment: Vec::new(),
        };
        // It says `none` with exit code 1.
        let output = exec::run_program("systemd-detect-virt", &arguments, &options)?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().next().unwrap_or("").trim().to_owned())
    }
}

fn list_devices() -> Result<Vec<Device>, AccessError> {
    let entries = match sysfs::list_directory(device::ROOT, MAX_ENTRIES) {
        Err(AccessError::NotFound(_)) => return Ok(Vec::new()),
        entries => entries?,
    };
    if entries.len() > MAX_DEVICES {
        log!(warn, "{} devices, looking at {MAX_DEVICES}", entries.len());
    }
    let mut devices: Vec<Device> = entries
        .iter()
        .take(MAX_DEVICES)
        .filter_map(|entry| read_device(&entry.name))
        .collect();
    device::name(&mut devices, read_ids);
    Ok(devices)
}

/// A device, unless it is being removed.
fn read_device(address: &str) -> Option<Device> {
    let file = |name: &str| {
        let path = format!("{}/{address}/{name}", device::ROOT);
        sysfs::read_to_string(&path, MAX_SMALL_BYTES).ok()
    };
    let mut device = Device::new(address, &file("uevent")?)?;
    device.revision = file("revision").and_then(|text| device::hex(&text));
    // Reading the configuration space would wake it up.
    let status = file("power/runtime_status").unwrap_or_default();
    device.config = if status.trim() == "suspended" {
        Err(NoConfigSpace::Suspended)
    } else {
        let path = format!("{}/{address}/config", device::ROOT);
        sysfs::read(&path, MAX_CONFIG_BYTES).map_err(|error| NoConfigSpace::Unread(error.text()))
    };
    Some(device)
}

fn read_ids() -> Option<Ids> {
    let text = IDS_FILES
        .iter()
        .find_map(|path| sysfs::read_to_string(path, MAX_IDS_BYTES).ok())?;
    Some(Ids::new(text))
}

gpud_sdk::member!("pci" => Pci: Descriptor::new(
    "pci",
    "PCIe Access Control Services, which slows down traffic between GPUs",
)
.interval_seconds(INTERVAL_SECONDS));
