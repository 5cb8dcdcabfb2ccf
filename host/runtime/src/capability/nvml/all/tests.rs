use std::sync::Arc;

use super::*;
use crate::{
    capability::wire::nvml::{
        Clock, EccError, EccPeriod, MemoryLocation, TemperatureSensor, TemperatureThreshold,
    },
    node::nvml::{
        Nvml,
        driver::{Driver, PresentDriver},
        gpu::NvmlTiming,
        simulated::Simulated,
    },
};

/// Every question there is.
const ALL: [Question; 24] = [
    Question::Identity,
    Question::Presence,
    Question::MemoryInfo,
    Question::Utilization,
    Question::ClockMhz(Clock::Sm),
    Question::ClockEventReasons,
    Question::Power,
    Question::PersistenceMode,
    Question::Temperature(TemperatureSensor::Core),
    Question::TemperatureThreshold(TemperatureThreshold::Slowdown),
    Question::TemperatureMargin,
    Question::EccMode,
    Question::EccTotal((EccError::Corrected, EccPeriod::Volatile)),
    Question::EccCount((
        EccError::Uncorrected,
        EccPeriod::Aggregate,
        MemoryLocation::Dram,
    )),
    Question::RemappedRows,
    Question::RowHistogram,
    Question::Nvlinks,
    Question::FabricInfo,
    Question::ComputeProcesses,
    Question::ProcessUtilization,
    Question::MigEnabled,
    Question::MigDevices,
    Question::PcieLink,
    Question::FieldValue((82, 0)),
];

async fn device() -> Device {
    let driver: Arc<dyn Driver> = Arc::new(Simulated::mock());
    let nvml = Nvml::of(Box::new(PresentDriver(driver)), NvmlTiming::default());
    nvml.devices().await.unwrap().remove(0)
}

#[tokio::test]
async fn every_question_has_an_answer_of_its_kind_or_is_not_supported() {
    let device = device().await;
    let gpu = one(&device, &ALL, Duration::from_secs(5)).await;
    assert_eq!((gpu.uuid.as_str(), gpu.name.as_str()), ("mock", "mock"));
    assert_eq!(gpu.serial.as_deref(), Some("MOCK-GPU-SERIAL"));
    assert_eq!(gpu.answers.len(), ALL.len());
    let mut answered = 0;
    for (question, answer) in ALL.iter().zip(&gpu.answers) {
        let fits = match (question, answer) {
            (_, Err(AccessError::NotSupported(_))) => true,
            (_, Err(_)) => false,
            (Question::Identity, Ok(Answer::Identity(who))) => who.uuid == "mock",
            (Question::Presence, Ok(Answer::Present))
            | (Question::PersistenceMode | Question::MigEnabled, Ok(Answer::Flag(_)))
            | (
                Question::ClockMhz(_)
                | Question::Temperature(_)
                | Question::TemperatureThreshold(_),
                Ok(Answer::Number(_)),
            )
            | (Question::TemperatureMargin, Ok(Answer::Signed(_)))
            | (
                Question::ClockEventReasons | Question::EccTotal(_) | Question::EccCount(_),
                Ok(Answer::Count(_)),
            )
            | (Question::FieldValue(_), Ok(Answer::Real(_)))
            | (Question::MemoryInfo, Ok(Answer::MemoryInfo(_)))
            | (Question::Utilization, Ok(Answer::Utilization(_)))
            | (Question::Power, Ok(Answer::Power(_)))
            | (Question::EccMode, Ok(Answer::EccMode(_)))
            | (Question::RemappedRows, Ok(Answer::RemappedRows(_)))
            | (Question::RowHistogram, Ok(Answer::RowHistogram(_)))
            | (Question::Nvlinks, Ok(Answer::Nvlinks(_)))
            | (Question::FabricInfo, Ok(Answer::FabricInfo(_)))
            | (Question::ComputeProcesses, Ok(Answer::ComputeProcesses(_)))
            | (Question::ProcessUtilization, Ok(Answer::ProcessUtilization(_)))
            | (Question::MigDevices, Ok(Answer::MigDevices(_)))
            | (Question::PcieLink, Ok(Answer::PcieLink(_))) => true,
            _ => false,
        };
        assert!(fits, "{question:?}: {answer:?}");
        answered += usize::from(answer.is_ok());
    }
    assert!(answered >= 12, "{answered} of {} answered", ALL.len());
}

#[test]
fn a_call_is_bounded() {
    assert!(at_most("x", "questions", MOST).is_ok());
    let refused = at_most("x", "questions", MOST + 1);
    assert!(matches!(refused, Err(AccessError::InvalidArgument(_))));
}
