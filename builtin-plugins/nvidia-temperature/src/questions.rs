//! The questions to a GPU about its temperature.

use gpud_builtin_nvidia_common::Failure;
use gpud_builtin_nvidia_common::trouble::if_readable;
use gpud_sdk::AccessError;
use gpud_sdk::nvml::{Answers, Question, TemperatureSensor, TemperatureThreshold};

use crate::evaluate::Reading;

/// The questions to every GPU.
pub const QUESTIONS: [Question; 7] = [
    Question::Temperature(TemperatureSensor::Core),
    Question::Temperature(TemperatureSensor::Memory),
    Question::TemperatureMargin,
    Question::TemperatureThreshold(TemperatureThreshold::Shutdown),
    Question::TemperatureThreshold(TemperatureThreshold::Slowdown),
    Question::TemperatureThreshold(TemperatureThreshold::MemoryMax),
    Question::TemperatureThreshold(TemperatureThreshold::GpuMax),
];

/// The source of readings: the machine, or a test.
pub trait Source {
    /// Degrees Celsius of a sensor.
    ///
    /// # Errors
    /// As `nvml`, and so for all that follow.
    fn sensor(&self, which: TemperatureSensor) -> Result<u32, AccessError>;

    /// Degrees Celsius left until slowdown.
    ///
    /// # Errors
    /// See above.
    fn margin(&self) -> Result<i32, AccessError>;

    /// Degrees Celsius of a threshold.
    ///
    /// # Errors
    /// See above.
    fn threshold(&self, which: TemperatureThreshold) -> Result<u32, AccessError>;
}

impl Source for Answers {
    fn sensor(&self, which: TemperatureSensor) -> Result<u32, AccessError> {
        self.temperature(which)
    }

    fn margin(&self) -> Result<i32, AccessError> {
        self.temperature_margin()
    }

    fn threshold(&self, which: TemperatureThreshold) -> Result<u32, AccessError> {
        self.temperature_threshold(which)
    }
}

/// Asks a GPU. Only one that does not answer at all is a failure; what else is missing is missing.
///
/// # Errors
/// That of the GPU as a whole.
pub fn ask(gpu: &impl Source) -> Result<Reading, Failure> {
    let core = gpu.sensor(TemperatureSensor::Core);
    let core_error = match &core {
        Err(AccessError::NotSupported(_)) | Ok(_) => None,
        Err(error) => Some(error.text()),
    };
    let core = if_readable(core)?;
    let threshold = |which| if_readable(gpu.threshold(which));
    Ok(Reading {
        core,
        core_error,
        memory: if_readable(gpu.sensor(TemperatureSensor::Memory))?,
        margin: if_readable(gpu.margin())?,
        shutdown: threshold(TemperatureThreshold::Shutdown)?,
        slowdown: threshold(TemperatureThreshold::Slowdown)?,
        memory_max: threshold(TemperatureThreshold::MemoryMax)?,
        gpu_max: threshold(TemperatureThreshold::GpuMax)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every question has a number; one of them is answered otherwise.
    struct Gpu {
        wrong: u32,
        error: AccessError,
    }

    impl Gpu {
        fn answer(&self, question: u32) -> Result<u32, AccessError> {
            match question == self.wrong {
                true => Err(self.error.clone()),
                false => Ok(question),
            }
        }
    }

    impl Source for Gpu {
        fn sensor(&self, which: TemperatureSensor) -> Result<u32, AccessError> {
            self.answer(match which {
                TemperatureSensor::Core => 1,
                TemperatureSensor::Memory => 2,
            })
        }

        fn margin(&self) -> Result<i32, AccessError> {
            self.answer(3).map(|margin| -i32::try_from(margin).unwrap())
        }

        fn threshold(&self, which: TemperatureThreshold) -> Result<u32, AccessError> {
            self.answer(match which {
                TemperatureThreshold::Shutdown => 4,
                TemperatureThreshold::Slowdown => 5,
                TemperatureThreshold::MemoryMax => 6,
                TemperatureThreshold::GpuMax => 7,
            })
        }
    }

    /// All questions answered, but for one.
    fn without(question: u32) -> Reading {
        let kept = |number: u32| (number != question).then_some(number);
        Reading {
            core: kept(1),
            core_error: None,
            memory: kept(2),
            margin: kept(3).map(|_| -3),
            shutdown: kept(4),
            slowdown: kept(5),
            memory_max: kept(6),
            gpu_max: kept(7),
        }
    }

    #[test]
    fn a_question_without_an_answer_costs_that_answer() {
        for wrong in 0..=7 {
            for error in [
                AccessError::NotSupported("x".into()),
                AccessError::Denied("x".into()),
                AccessError::Other("x: Unknown Error".into()),
            ] {
                let is_said = wrong == 1 && !matches!(error, AccessError::NotSupported(_));
                let expected = Reading {
                    core_error: is_said.then(|| error.text()),
                    ..without(wrong)
                };
                assert_eq!(ask(&Gpu { wrong, error }), Ok(expected), "{wrong}");
            }
        }
    }

    #[test]
    fn a_gpu_that_is_gone_is_a_failure_at_every_question() {
        for wrong in 1..=7 {
            for error in [
                AccessError::SourceLost("x".into()),
                AccessError::NeedsReset("x".into()),
            ] {
                let found = ask(&Gpu {
                    wrong,
                    error: error.clone(),
                });
                assert_eq!(found, Err(Failure::from(error)), "{wrong}");
            }
        }
    }
}
