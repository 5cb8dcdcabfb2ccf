//! Which metrics of gpud have a name in OpenTelemetry's semantic conventions for hardware (`hw.*`, status: development).
//!
//! `docs/exports-otlp.md` lists them for readers. Conventions for systems (`system.*`) are not used: a collector's own
//! receiver for host metrics sends these, and two senders of one series contradict each other.

/// An instrument of the conventions.
#[derive(Debug, PartialEq, Eq)]
pub struct Instrument {
    pub name: &'static str,
    pub description: &'static str,
    pub unit: &'static str,
    pub kind: Kind,
    /// Its values are whole numbers.
    pub is_whole: bool,
}

/// How values of an instrument behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// They go up and down.
    Gauge,
    /// They only grow.
    Counter,
    /// They go up and down, and a sum of them over parts means something.
    UpDownCounter,
}

pub const fn instrument(
    name: &'static str,
    unit: &'static str,
    kind: Kind,
    description: &'static str,
) -> Instrument {
    Instrument {
        name,
        description,
        unit,
        kind,
        is_whole: matches!(kind, Kind::Counter | Kind::UpDownCounter),
    }
}

/// Whether a part is in a state: 1 or 0 for each state.
pub const STATUS: Instrument = instrument(
    "hw.status",
    "1",
    Kind::UpDownCounter,
    "1 for the state that a part of the machine is in, 0 for the others",
);

/// The kind of part that a metric is about, which says which labels name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HardwarePart {
    /// A GPU of NVIDIA: `uuid`.
    NvidiaGpu,
    /// A GPU of AMD: `bus_id`.
    AmdGpu,
    /// A disk: `device`.
    Disk,
    /// A port of InfiniBand: `device_port`.
    Port,
    /// A memory module: `controller`, `slot`, `dimm`.
    Dimm,
    /// A sensor of the board, with the conventions' type for it: `chip`, `sensor`.
    Sensor(&'static str),
}

/// How a value of gpud becomes one of the conventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// As it is.
    Same,
    /// As it is, where there is one: 0 is what a component records for a reading that the GPU does not have.
    Measured,
    /// Milliwatts, 0 as for [`Self::Measured`]; watts.
    MilliWatts,
    /// Percent; a ratio.
    Percent,
    /// Percent that is used up; a ratio of what is left.
    PercentUsed,
}

impl Conversion {
    /// Returns the conventions' value, if there is one.
    pub fn convert(self, value: f64) -> Option<f64> {
        if !value.is_finite() {
            return None;
        }
        match self {
            Self::Measured | Self::MilliWatts if value <= 0.0 => None,
            Self::Same | Self::Measured => Some(value),
            Self::MilliWatts => Some(value / 1000.0),
            Self::Percent => Some(value / 100.0),
            Self::PercentUsed => Some((1.0 - value / 100.0).max(0.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_converted() {
        for (conversion, value, expected) in [
            (Conversion::Same, 0.0, Some(0.0)),
            (Conversion::Same, f64::NAN, None),
            (Conversion::Measured, 0.0, None),
            (Conversion::Measured, 45.0, Some(45.0)),
            (Conversion::MilliWatts, 0.0, None),
            (Conversion::MilliWatts, 72_500.0, Some(72.5)),
            (Conversion::Percent, 25.0, Some(0.25)),
            (Conversion::PercentUsed, 25.0, Some(0.75)),
            (Conversion::PercentUsed, 120.0, Some(0.0)),
        ] {
            assert_eq!(
                conversion.convert(value),
                expected,
                "{conversion:?} {value}"
            );
        }
    }
}
