//! What GPUs answered to questions that were asked of all of them at once.

use std::{cell::OnceCell, rc::Rc};

use super::{
    AccessError, Answer, Clock, ComputeProcess, Device, EccError, EccMode, EccPeriod, FabricInfo,
    GpuAnswers, Identity, MemoryInfo, MemoryLocation, MigDevice, Nvlink, PcieLink, Power,
    ProcessUtilization, Question, RemappedRows, RowHistogram, SramEccStatus, TemperatureSensor,
    TemperatureThreshold, Utilization,
};
use crate::bindings::gpud::plugin::nvml as host;

/// The answers of one GPU. It has the questions of [`Device`]; one that was not among those that were asked is asked now,
/// which costs calls of its own.
pub struct Answers {
    /// `GPU-…`, or `unknown-gpu-‹index›`.
    pub uuid: String,
    /// Product name as NVML gives it; may be empty.
    pub name: String,
    /// PCI id as `0000:0f:00.0`; may be empty.
    pub bus_id: String,
    /// Serial number of the board.
    pub serial: Option<String>,
    answers: Vec<(Question, Result<Answer, AccessError>)>,
    /// Its place in the list of GPUs.
    place: usize,
    devices: Rc<Devices>,
}

/// Handles of all GPUs, once they are wanted.
#[derive(Default)]
struct Devices(OnceCell<Result<Vec<Device>, AccessError>>);

/// Asks all GPUs the same questions, at most 64, in one call.
///
/// # Errors
/// When the GPUs cannot be listed. What a single GPU does not answer is an error there.
pub fn ask(questions: &[Question]) -> Result<Vec<Answers>, AccessError> {
    let devices = Rc::<Devices>::default();
    let asked = host::ask_all(questions)?.into_iter();
    let answers = asked
        .enumerate()
        .map(|(place, gpu)| Answers::of(gpu, questions, place, &devices));
    Ok(answers.collect())
}

/// Asks further questions of GPUs that were asked before.
///
/// # Errors
/// As [`ask`].
pub fn ask_more(gpus: &mut [Answers], questions: &[Question]) -> Result<(), AccessError> {
    for asked in host::ask_all(questions)? {
        if let Some(gpu) = gpus.iter_mut().find(|gpu| gpu.uuid == asked.uuid) {
            let answers = questions.iter().copied().zip(asked.answers);
            gpu.answers.extend(answers);
        }
    }
    Ok(())
}

/// The questions of [`Device`], by the answers that there are.
macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*) -> $type:ty, $question:expr, $answer:ident;)+) => {
        $(
            $(#[$doc])*
            ///
            /// # Errors
            /// Those of the question of [`Device`] with this name.
            pub fn $name(&self, $($argument: $kind),*) -> Result<$type, AccessError> {
                // Kept out of line, so that it does not slow down the path that each check takes.
                #[cold]
                #[inline(never)]
                fn ask_now(gpu: &Answers, $($argument: $kind),*) -> Result<$type, AccessError> {
                    gpu.device()?.$name($($argument),*)
                }

                match self.find($question) {
                    Some(Ok(Answer::$answer(value))) => Ok(value.clone()),
                    Some(Err(error)) => Err(again(error)),
                    _ => ask_now(self, $($argument),*),
                }
            }
        )+
    };
}

/// An error that was answered before.
#[cold]
#[inline(never)]
fn again(error: &AccessError) -> AccessError {
    error.clone()
}

impl Answers {
    fn of(gpu: GpuAnswers, questions: &[Question], place: usize, devices: &Rc<Devices>) -> Self {
        Self {
            uuid: gpu.uuid,
            name: gpu.name,
            bus_id: gpu.bus_id,
            serial: gpu.serial,
            answers: questions.iter().copied().zip(gpu.answers).collect(),
            place,
            devices: Rc::clone(devices),
        }
    }

    #[inline(never)]
    fn find(&self, question: Question) -> Option<&Result<Answer, AccessError>> {
        let mut answers = self.answers.iter();
        let found = answers.find(|(asked, _)| *asked == question);
        found.map(|(_, answer)| answer)
    }

    /// Its handle, for what cannot be asked of all at once.
    ///
    /// # Errors
    /// When the GPUs cannot be listed, or it is not among them any more.
    #[cold]
    pub fn device(&self) -> Result<&Device, AccessError> {
        let devices = self.devices.0.get_or_init(host::devices);
        let devices = devices.as_ref().map_err(AccessError::clone)?;
        // Each question for an identity is a call. The list is in the same order, unless a GPU came or went since.
        let (before, from_here) = devices.split_at(self.place.min(devices.len()));
        let mut devices = from_here.iter().chain(before);
        devices
            .find(|device| device.identity().uuid == self.uuid)
            .ok_or_else(|| AccessError::NotFound(format!("{}: no longer listed", self.uuid)))
    }

    /// Is it still there?
    ///
    /// # Errors
    /// As [`Device::presence`].
    pub fn presence(&self) -> Result<(), AccessError> {
        match self.find(Question::Presence) {
            Some(Ok(_)) => Ok(()),
            Some(Err(error)) => Err(again(error)),
            None => self.device()?.presence(),
        }
    }

    /// Errors of on-chip memory. Costs calls of its own: it is not among the questions that are asked of all GPUs at once.
    ///
    /// # Errors
    /// As [`Self::device`] and [`Device::sram_ecc_status`].
    pub fn sram_ecc_status(&self) -> Result<SramEccStatus, AccessError> {
        self.device()?.sram_ecc_status()
    }

    /// Its identity, with all that is known.
    ///
    /// # Errors
    /// When it was not asked for, as [`Self::device`].
    pub fn identity(&self) -> Result<Identity, AccessError> {
        match self.find(Question::Identity) {
            Some(Ok(Answer::Identity(identity))) => Ok(identity.clone()),
            _ => Ok(self.device()?.identity()),
        }
    }

    questions! {
        /// Frame buffer.
        memory_info() -> MemoryInfo, Question::MemoryInfo, MemoryInfo;
        /// Busy or not.
        utilization() -> Utilization, Question::Utilization, Utilization;
        /// Current clock, MHz.
        clock_mhz(which: Clock) -> u32, Question::ClockMhz(which), Number;
        /// Bit mask `nvmlClocksEventReasons`.
        clock_event_reasons() -> u64, Question::ClockEventReasons, Count;
        /// Power, milliwatts.
        power() -> Power, Question::Power, Power;
        /// Persistence mode on?
        persistence_mode() -> bool, Question::PersistenceMode, Flag;
        /// Degrees Celsius.
        temperature(sensor: TemperatureSensor) -> u32, Question::Temperature(sensor), Number;
        /// Degrees Celsius.
        temperature_threshold(threshold: TemperatureThreshold) -> u32,
            Question::TemperatureThreshold(threshold), Number;
        /// Degrees Celsius left until slowdown.
        temperature_margin() -> i32, Question::TemperatureMargin, Signed;
        /// ECC on or off.
        ecc_mode() -> EccMode, Question::EccMode, EccMode;
        /// Total ECC errors.
        ecc_total(error: EccError, period: EccPeriod) -> u64,
            Question::EccTotal((error, period)), Count;
        /// ECC errors at one place.
        ecc_count(error: EccError, period: EccPeriod, location: MemoryLocation) -> u64,
            Question::EccCount((error, period, location)), Count;
        /// Row remapping.
        remapped_rows() -> RemappedRows, Question::RemappedRows, RemappedRows;
        /// Spare rows for remapping.
        row_histogram() -> RowHistogram, Question::RowHistogram, RowHistogram;
        /// All NVLinks that the GPU has.
        nvlinks() -> Vec<Nvlink>, Question::Nvlinks, Nvlinks;
        /// Fabric membership.
        fabric_info() -> FabricInfo, Question::FabricInfo, FabricInfo;
        /// Processes that compute.
        compute_processes() -> Vec<ComputeProcess>, Question::ComputeProcesses, ComputeProcesses;
        /// What processes used.
        process_utilization() -> Vec<ProcessUtilization>,
            Question::ProcessUtilization, ProcessUtilization;
        /// MIG mode on?
        mig_enabled() -> bool, Question::MigEnabled, Flag;
        /// Its MIG devices.
        mig_devices() -> Vec<MigDevice>, Question::MigDevices, MigDevices;
        /// PCIe now and at best.
        pcie_link() -> PcieLink, Question::PcieLink, PcieLink;
        /// A value of `nvmlFieldValue_t` by field and scope id.
        field_value(field: u32, scope: u32) -> f64, Question::FieldValue((field, scope)), Real;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(questions: &[Question], answers: Vec<Result<Answer, AccessError>>) -> Answers {
        let gpu = GpuAnswers {
            index: 0,
            uuid: "GPU-1".into(),
            name: "NVIDIA H100".into(),
            bus_id: "0000:0f:00.0".into(),
            serial: None,
            answers,
        };
        Answers::of(gpu, questions, 0, &Rc::default())
    }

    #[test]
    fn answers_by_question() {
        let clock = Question::ClockMhz;
        let questions = [clock(Clock::Sm), clock(Clock::Memory), Question::Power];
        let lost = AccessError::SourceLost("x".into());
        let answers = vec![
            Ok(Answer::Number(1)),
            Ok(Answer::Number(2)),
            Err(lost.clone()),
        ];
        let gpu = gpu(&questions, answers);
        assert_eq!(gpu.clock_mhz(Clock::Memory), Ok(2));
        assert_eq!(gpu.clock_mhz(Clock::Sm), Ok(1));
        assert_eq!(gpu.power(), Err(lost));
    }

    #[test]
    fn presence_has_no_value() {
        let gone = || AccessError::NeedsReset("x".into());
        for (answer, expected) in [(Ok(Answer::Present), Ok(())), (Err(gone()), Err(gone()))] {
            assert_eq!(
                gpu(&[Question::Presence], vec![answer]).presence(),
                expected
            );
        }
    }
}
