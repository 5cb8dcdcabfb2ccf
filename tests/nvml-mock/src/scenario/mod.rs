//! Scenario files: what they may say, and how they are read. The format is described in the README.

pub mod ecc;
pub mod fabric;
pub mod fault;
pub mod gpu;
pub mod mig;
pub mod node;
pub mod nvlink;
pub mod patch;
pub mod product;
pub mod selector;
pub mod tables;
#[cfg(test)]
mod tests;
pub mod timeline;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_yaml::{Location, Spanned};

use fault::Fault;
use gpu::GpuPatch;
use node::P2p;
use product::Product;
use timeline::Step;

/// Most GPUs that a scenario may ask for.
pub const MAX_GPUS: u32 = 72;
/// Longest scenario file, bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// One scenario file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it is for; for readers only.
    #[serde(default)]
    pub about: Option<String>,
    /// Which machine: `h100-sxm` and so on.
    pub product: Spanned<String>,
    /// How many GPUs; by default as many as the product's machine has.
    #[serde(default)]
    pub gpus: Option<Spanned<u32>>,
    /// Driver version.
    #[serde(default)]
    pub driver_version: Option<String>,
    /// NVML version.
    #[serde(default)]
    pub nvml_version: Option<String>,
    /// CUDA version that the driver supports, major × 1000 + minor × 10.
    #[serde(default)]
    pub cuda_version: Option<i32>,
    /// Changes for every GPU.
    #[serde(default)]
    pub all: GpuPatch,
    /// Changes for one GPU, by number.
    #[serde(default)]
    pub gpu: BTreeMap<u32, Spanned<GpuPatch>>,
    /// Peer-to-peer states that are not `OK`.
    #[serde(default)]
    pub p2p: Vec<P2p>,
    /// Calls that fail or hang.
    #[serde(default)]
    pub faults: Vec<Spanned<Fault>>,
    /// What changes with time or calls.
    #[serde(default)]
    pub timeline: Vec<Spanned<Step>>,
    /// Functions that the library shall not have. Installing the library (see `install`) takes them out; where they are
    /// still there, they give 13.
    #[serde(default)]
    pub missing_symbols: Vec<Spanned<String>>,
    /// Where each call is logged, unless the environment names another place.
    #[serde(default)]
    pub call_log: Option<PathBuf>,
    /// Answer 25 to `nvmlGpmQueryDeviceSupport` with version `0x01000008`, as a driver does whose header says 1.
    #[serde(default)]
    pub strict_gpm_version: bool,
}

/// Why a scenario cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Not to be read.
    #[error("{file}: cannot be read: {error}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// Too long.
    #[error("{file}: longer than {MAX_BYTES} bytes")]
    TooLong {
        /// The file.
        file: String,
    },
    /// Not a scenario: not YAML, an unknown key, a wrong type, or something that is not there.
    #[error("{file}:{line}:{column}: at `{key}`: {message}")]
    Malformed {
        /// The file.
        file: String,
        /// Line, from 1; 0 where unknown.
        line: u64,
        /// Column, from 1.
        column: u64,
        /// Path of the key, `gpu.3.temperature.gpu`.
        key: String,
        /// The problem.
        message: String,
    },
    /// No file was named.
    #[error(
        "no scenario: set {} to a scenario file, or put {} beside the library",
        crate::source::SCENARIO_ENV,
        crate::source::BESIDE
    )]
    None,
}

/// Reads one YAML (or JSON) text.
///
/// # Errors
/// [`ScenarioError::Malformed`] with the place.
pub fn parse<T: for<'de> Deserialize<'de>>(file: &str, text: &str) -> Result<T, ScenarioError> {
    if text.len() > MAX_BYTES {
        return Err(ScenarioError::TooLong {
            file: file.to_owned(),
        });
    }
    let mut key = String::from(".");
    serde_yaml::with_deserializer_from_str(text, |de| {
        serde_path_to_error::deserialize(de).map_err(|error| {
            // `Spanned` puts its value into the path.
            key = error.path().to_string().replace(".value", "");
            error.into_inner()
        })
    })
    .map_err(|error| {
        let (line, column) = error
            .location()
            .map_or((0, 0), |at| (at.line(), at.column()));
        // The first line says it all, the rest is a picture of the source; the place at its end is given already.
        let message = error.without_snippet().to_string();
        let first = message.lines().next().unwrap_or_default();
        let message = first
            .rsplit_once(" at line ")
            .map_or(first, |(before, _)| before)
            .to_owned();
        ScenarioError::Malformed {
            file: file.to_owned(),
            line,
            column,
            key: key.clone(),
            message,
        }
    })
}

/// Something that is well-formed, but cannot be: key, place, what is wrong.
struct Complaint(String, Location, String);

impl Scenario {
    /// Reads and checks a scenario. `file` is for messages.
    ///
    /// # Errors
    /// Not YAML, unknown keys, values of the wrong type, a product or GPU that is not there.
    pub fn read(file: &str, text: &str) -> Result<Scenario, ScenarioError> {
        let scenario: Scenario = parse(file, text)?;
        scenario
            .check()
            .map_err(|Complaint(key, at, message)| ScenarioError::Malformed {
                file: file.to_owned(),
                line: at.line(),
                column: at.column(),
                key,
                message,
            })?;
        Ok(scenario)
    }

    fn check(&self) -> Result<(), Complaint> {
        let product = Product::find(&self.product.value).ok_or_else(|| {
            let known: Vec<&str> = Product::names().collect();
            let message = format!(
                "no product `{}`; there are {}",
                self.product.value,
                known.join(", ")
            );
            Complaint("product".to_owned(), self.product.referenced, message)
        })?;
        if let Some(gpus) = self.gpus.as_ref().filter(|gpus| gpus.value > MAX_GPUS) {
            return Err(Complaint(
                "gpus".to_owned(),
                gpus.referenced,
                format!("more than {MAX_GPUS} GPUs"),
            ));
        }
        for (at, step) in self.timeline.iter().enumerate() {
            step.value.check().map_err(|message| {
                Complaint(format!("timeline[{at}]"), step.referenced, message)
            })?;
        }
        for (at, fault) in self.faults.iter().enumerate() {
            fault
                .value
                .check()
                .map_err(|message| Complaint(format!("faults[{at}]"), fault.referenced, message))?;
        }
        for (at, name) in self.missing_symbols.iter().enumerate() {
            if crate::functions::NAMES
                .binary_search(&name.value.as_str())
                .is_err()
            {
                let message = format!("no function is called `{}`", name.value);
                return Err(Complaint(
                    format!("missing_symbols[{at}]"),
                    name.referenced,
                    message,
                ));
            }
        }
        let slots = self.slots(product);
        match self.gpu.iter().find(|(number, _)| **number >= slots) {
            Some((number, patch)) => {
                let message = format!("there are only {slots} GPUs, counted from 0");
                Err(Complaint(
                    format!("gpu.{number}"),
                    patch.referenced,
                    message,
                ))
            }
            None => Ok(()),
        }
    }

    /// How many GPUs there are at most over the whole timeline.
    #[must_use]
    pub fn slots(&self, product: &Product) -> u32 {
        let later = self.timeline.iter().filter_map(|step| step.value.gpus);
        later.fold(self.count(product), u32::max)
    }

    /// How many GPUs there are before the timeline says otherwise.
    #[must_use]
    pub fn count(&self, product: &Product) -> u32 {
        self.gpus.as_ref().map_or(product.gpus, |gpus| gpus.value)
    }
}
