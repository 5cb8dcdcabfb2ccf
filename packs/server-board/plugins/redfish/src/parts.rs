//! Parts and how they are: every object of a tree with a `Status` (DMTF `Resource`), in a document of its own or in an
//! array of one, as the fans of the older `Thermal` are.

use serde_json::Value;

use crate::crawl::{Page, kind};

/// Parts that are taken.
const MAX_PARTS: usize = 1_024;
/// Longest text of a name, bytes.
const MAX_TEXT: usize = 64;

/// The kinds of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A GPU or another accelerator.
    Gpu,
    /// A processor.
    Processor,
    /// A memory module.
    Memory,
    /// A drive.
    Drive,
    /// A power supply.
    PowerSupply,
    /// A fan.
    Fan,
    /// A leak detector of a liquid cooling.
    LeakDetector,
    /// A temperature sensor.
    Temperature,
    /// A voltage sensor.
    Voltage,
    /// A set of parts that replace one another when one fails.
    Redundancy,
    /// Something that holds others, and whose health may be only theirs.
    Container,
    /// Anything else.
    Other,
}

impl Kind {
    /// As a label and in words.
    pub fn label(self) -> &'static str {
        match self {
            Self::Gpu => "GPU",
            Self::Processor => "processor",
            Self::Memory => "memory module",
            Self::Drive => "drive",
            Self::PowerSupply => "power supply",
            Self::Fan => "fan",
            Self::LeakDetector => "leak detector",
            Self::Temperature => "temperature sensor",
            Self::Voltage => "voltage sensor",
            Self::Redundancy => "redundancy",
            Self::Container => "unit",
            Self::Other => "part",
        }
    }
}

/// How a part finds itself (`Health` of `Status`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// It does not say.
    Unknown,
    /// Well.
    Ok,
    /// Needs attention.
    Warning,
    /// Needs attention at once.
    Critical,
}

impl Health {
    fn parse(value: Option<&Value>) -> Self {
        let is = |word: &str| {
            let text = value.and_then(Value::as_str);
            text.is_some_and(|text| text.eq_ignore_ascii_case(word))
        };
        let all = [Self::Ok, Self::Warning, Self::Critical];
        let found = all.into_iter().find(|health| is(health.label()));
        found.unwrap_or(Self::Unknown)
    }

    /// As Redfish writes it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Ok => "OK",
            Self::Warning => "Warning",
            Self::Critical => "Critical",
        }
    }
}

/// A part.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What it is.
    pub kind: Kind,
    /// Its path in the tree: what makes it the same at the next check.
    pub path: String,
    /// Its name, with model, serial number and place as far as they are known.
    pub name: String,
    /// How it finds itself; of a leak detector the worse of that and of what it detects.
    pub health: Health,
    /// `Enabled`, `Absent`, `StandbyOffline` and so on; empty where it does not say.
    pub state: String,
    /// Value and unit, if it measures.
    pub reading: Option<(f64, &'static str)>,
}

impl Part {
    /// Whether it is there.
    pub fn is_present(&self) -> bool {
        self.state != "Absent"
    }

    /// Whether it is switched off against its purpose.
    pub fn is_lost(&self) -> bool {
        self.kind == Kind::Gpu && matches!(self.state.as_str(), "UnavailableOffline" | "Disabled")
    }
}

/// The parts of a tree.
pub fn all(pages: &[Page]) -> Vec<Part> {
    let mut found = Vec::new();
    for page in pages {
        let own = part(&page.document, kind_of(&page.document), &page.path);
        found.extend(own);
        for (array, kind, newer) in [
            ("Fans", Kind::Fan, "Fan"),
            ("Temperatures", Kind::Temperature, ""),
            ("PowerSupplies", Kind::PowerSupply, "PowerSupply"),
            ("Voltages", Kind::Voltage, ""),
            ("Redundancy", Kind::Redundancy, ""),
        ] {
            let list = page.document.get(array).and_then(Value::as_array);
            let Some(list) = list.filter(|_| !has_newer(pages, &page.path, newer)) else {
                continue;
            };
            let list = list.iter().enumerate();
            found.extend(list.filter_map(|(number, object)| {
                part(object, kind, &format!("{}#/{array}/{number}", page.path))
            }));
        }
    }
    found.truncate(MAX_PARTS);
    found
}

/// Whether parts of a chassis have documents of their own, of this kind: services that have both generations of documents
/// name each fan and supply twice.
fn has_newer(pages: &[Page], path: &str, newer: &str) -> bool {
    let chassis = path.trim_end_matches('/').rsplit_once('/');
    let chassis = chassis.map_or("", |(chassis, _)| chassis);
    let is_below = |other: &Page| {
        let rest = other.path.strip_prefix(chassis);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    !newer.is_empty()
        && pages
            .iter()
            .any(|other| kind(&other.document) == newer && is_below(other))
}

fn kind_of(document: &Value) -> Kind {
    let accelerators = ["GPU", "Accelerator", "FPGA", "DSP"];
    match kind(document) {
        "Processor" => match text(document, "/ProcessorType") {
            kind if accelerators.contains(&kind.as_str()) => Kind::Gpu,
            _ => Kind::Processor,
        },
        "Memory" => Kind::Memory,
        "Drive" => Kind::Drive,
        "PowerSupply" => Kind::PowerSupply,
        "Fan" => Kind::Fan,
        "LeakDetector" => Kind::LeakDetector,
        "Chassis" | "ComputerSystem" | "Storage" | "Thermal" | "Power" | "ThermalSubsystem"
        | "PowerSubsystem" | "LeakDetection" | "Manager" | "LogService" => Kind::Container,
        _ => Kind::Other,
    }
}

fn part(object: &Value, kind: Kind, path: &str) -> Option<Part> {
    let status = object.get("Status")?;
    let detected = Health::parse(object.get("DetectorState"));
    let own = match Health::parse(status.get("Health")) {
        // Some units tell only the health of all their parts; the spelling differs.
        Health::Unknown if kind == Kind::Container => {
            let of_parts = ["HealthRollup", "HealthRollUp"].map(|key| status.get(key));
            Health::parse(of_parts.into_iter().flatten().next())
        }
        own => own,
    };
    let name = name(object, kind);
    let number = |key: &str| object.get(key).and_then(Value::as_f64);
    let reading = match kind {
        Kind::Temperature => number("ReadingCelsius").map(|value| (value, "Celsius")),
        Kind::Voltage => number("ReadingVolts").map(|value| (value, "Volts")),
        Kind::Fan => number("Reading").map(|value| match text(object, "/ReadingUnits").as_str() {
            "Percent" => (value, "Percent"),
            _ => (value, "RPM"),
        }),
        _ => None,
    };
    Some(Part {
        kind,
        path: path.to_owned(),
        name,
        health: own.max(detected),
        state: text(status, "/State"),
        reading: reading.filter(|(value, _)| value.is_finite()),
    })
}

/// Which one it is: name, then place, model and serial number.
fn name(object: &Value, kind: Kind) -> String {
    let first = |paths: &[&str]| {
        let mut texts = paths.iter().map(|path| text(object, path));
        texts.find(|text| !text.is_empty()).unwrap_or_default()
    };
    let name = first(&["/Name", "/FanName", "/MemberId", "/Id"]);
    let id = first(&["/Id", "/MemberId"]);
    let place = first(&[
        "/PhysicalLocation/PartLocation/ServiceLabel",
        "/Location/PartLocation/ServiceLabel",
        "/DeviceLocator",
        "/Socket",
    ]);
    let mut more = Vec::new();
    for one in [place, id, text(object, "/Model")] {
        if !one.is_empty() && !name.contains(&one) && !more.contains(&one) {
            more.push(one);
        }
    }
    let serial = text(object, "/SerialNumber");
    if !serial.is_empty() {
        more.push(format!("serial {serial}"));
    }
    let is_sensor = matches!(kind, Kind::Temperature | Kind::Voltage | Kind::Redundancy);
    if more.is_empty() || is_sensor {
        return name;
    }
    format!("{name} ({})", more.join(", "))
}

fn text(value: &Value, path: &str) -> String {
    let text = value
        .pointer(path)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .trim();
    text.get(..text.floor_char_boundary(MAX_TEXT))
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests;
