//! Questions to many GPUs in one call: `nvml.ask-all` and `nvml.nvlink-p2p-among`.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::{
    Answer, ComputeProcess, FOR_THE_GUEST, GpuAnswers, MigDevice, Nvlink, ProcessUtilization,
    Question, compute_processes, identity,
};
use crate::{
    capability::{Call, wire::types::AccessError},
    node::{
        error::SourceError,
        nvml::{
            Device,
            values::{Reading, Value},
        },
    },
};

/// Most questions of one call, and most GPUs whose pairs are asked.
const MOST: usize = 64;

/// `nvml.ask-all`.
pub(super) async fn ask(
    call: &mut Call,
    questions: &[Question],
) -> Result<Vec<GpuAnswers>, AccessError> {
    const WHAT: &str = "nvml.ask-all";
    call.enter(WHAT)?;
    at_most(WHAT, "questions", questions.len())?;
    let nvml = call.node.nvml.clone();
    let devices = call.nvml_wait(WHAT, nvml.devices()).await??;
    let known = devices.iter().map(|device| known(device, questions));
    let gpus = match known.collect::<Option<Vec<_>>>() {
        Some(gpus) => gpus,
        None => {
            let time = call.remaining().saturating_sub(FOR_THE_GUEST);
            let gpus = devices.iter().map(|device| one(device, questions, time));
            call.wait(join_all(gpus)).await
        }
    };
    call.charge(WHAT, gpus.iter().map(size).sum())?;
    Ok(gpus)
}

/// `nvml.nvlink-p2p-among`.
pub(super) async fn p2p_among(
    call: &mut Call,
    uuids: &[String],
) -> Result<Vec<Result<u32, AccessError>>, AccessError> {
    const WHAT: &str = "nvml.nvlink-p2p-among";
    call.enter(WHAT)?;
    at_most(WHAT, "GPUs", uuids.len())?;
    let nvml = call.node.nvml.clone();
    let all = call.nvml_wait(WHAT, nvml.devices()).await??;
    let find = |uuid: &String| {
        let mut all = all.iter();
        all.find(|device| device.identity().uuid == *uuid)
            .cloned()
            .ok_or_else(|| AccessError::NotFound(format!("{WHAT}: no GPU {uuid}")))
    };
    let devices: Vec<Device> = uuids.iter().map(find).collect::<Result<_, _>>()?;
    let statuses = call.nvml_wait(WHAT, nvml.p2p_among(&devices)).await?;
    call.charge(WHAT, statuses.len() * size_of::<u32>())?;
    let statuses = statuses.into_iter();
    Ok(statuses.map(|it| it.map_err(Into::into)).collect())
}

fn at_most(what: &str, of: &str, count: usize) -> Result<(), AccessError> {
    match count > MOST {
        true => Err(AccessError::InvalidArgument(format!(
            "{what}: {count} {of} are more than {MOST}"
        ))),
        false => Ok(()),
    }
}

/// All answers of one GPU. A GPU that hangs gets this much time; then the others are answered without it.
async fn one(device: &Device, questions: &[Question], time: Duration) -> GpuAnswers {
    match known(device, questions) {
        Some(answers) => answers,
        None => with_identity(device, ask_for(device, questions, time).await),
    }
}

fn with_identity(device: &Device, answers: Vec<Result<Answer, AccessError>>) -> GpuAnswers {
    let identity = device.identity();
    GpuAnswers {
        index: identity.index,
        uuid: identity.uuid.clone(),
        name: identity.name.clone(),
        bus_id: identity.bus_id.clone(),
        serial: identity.serial.clone(),
        answers,
    }
}

/// Returns the answers without a wait, which is the usual case: another checker of this round, or the last round, has asked
/// the same.
fn known(device: &Device, questions: &[Question]) -> Option<GpuAnswers> {
    let mut known = device.cached_answers()?;
    let mut answers = Vec::with_capacity(questions.len());
    for question in questions {
        let reading = match question {
            Question::Identity => {
                answers.push(Ok(Answer::Identity(identity(&device.identity()))));
                continue;
            }
            // Two questions, of which the second depends on the first.
            Question::ComputeProcesses => return None,
            other => prepared(other)?,
        };
        let value = known.get(&reading)?;
        let answer = match question {
            Question::Presence => Device::presence_of(value).map(|()| Answer::Present),
            simple => value.and_then(|value| plain(device, simple, value)),
        };
        answers.push(answer.map_err(AccessError::from));
    }
    drop(known);
    Some(with_identity(device, answers))
}

async fn ask_for(
    device: &Device,
    questions: &[Question],
    time: Duration,
) -> Vec<Result<Answer, AccessError>> {
    let readings: Vec<Reading> = questions.iter().filter_map(prepared).collect();
    let began = Instant::now();
    let left = || time.saturating_sub(began.elapsed());
    let _ = tokio::time::timeout(left(), device.prepare(&readings)).await;
    let mut answers = Vec::with_capacity(questions.len());
    for question in questions {
        let answer = tokio::time::timeout(left(), answer(device, *question)).await;
        let answer = answer.unwrap_or_else(|_| Err(too_late(device, time)));
        answers.push(answer.map_err(AccessError::from));
    }
    answers
}

fn too_late(device: &Device, after: Duration) -> SourceError {
    SourceError::TimedOut {
        what: format!("{} (this call's time is over)", device.identity().label()),
        after,
        last_good: device.last_good(),
    }
}

/// Returns the reading of a question that is asked together with others, before the answers are joined.
fn prepared(question: &Question) -> Option<Reading> {
    Some(match *question {
        Question::Identity => return None,
        // As `Device::presence` asks.
        Question::Presence | Question::PersistenceMode => Reading::PersistenceMode,
        Question::ComputeProcesses => Reading::Processes,
        Question::MemoryInfo => Reading::Memory,
        Question::Utilization => Reading::Utilization,
        Question::ClockMhz(which) => Reading::Clock(which as u32),
        Question::ClockEventReasons => Reading::ClockEventReasons,
        Question::Power => Reading::Power,
        Question::Temperature(sensor) => Reading::Temperature(sensor as u32),
        Question::TemperatureThreshold(which) => Reading::TemperatureThreshold(which as u32),
        Question::TemperatureMargin => Reading::TemperatureMargin,
        Question::EccMode => Reading::EccMode,
        Question::EccTotal((error, period)) => Reading::EccTotal(error as u32, period as u32),
        Question::EccCount((error, period, place)) => {
            Reading::EccCount(error as u32, period as u32, place as u32)
        }
        Question::RemappedRows => Reading::RemappedRows,
        Question::RowHistogram => Reading::RowHistogram,
        Question::Nvlinks => Reading::Nvlinks,
        Question::FabricInfo => Reading::Fabric,
        Question::ProcessUtilization => Reading::ProcessUse,
        Question::MigEnabled => Reading::MigMode,
        Question::MigDevices => Reading::MigDevices,
        Question::PcieLink => Reading::PcieLink,
        Question::FieldValue((field, scope)) => Reading::FieldValue(field, scope),
    })
}

async fn answer(device: &Device, question: Question) -> Result<Answer, SourceError> {
    match question {
        Question::Identity => Ok(Answer::Identity(identity(&device.identity()))),
        Question::Presence => device.presence().await.map(|()| Answer::Present),
        Question::ComputeProcesses => {
            let processes = compute_processes(device).await?;
            Ok(Answer::ComputeProcesses(processes))
        }
        simple => {
            let reading = prepared(&simple)
                .ok_or_else(|| SourceError::Other("no such question".to_owned()))?;
            plain(device, &simple, &device.value(reading).await?)
        }
    }
}

/// Converts a value to the answer to a question that needs no more.
fn plain(device: &Device, question: &Question, value: &Value) -> Result<Answer, SourceError> {
    of_value(value).ok_or_else(|| {
        let who = device.identity().label();
        let call = prepared(question).map_or("NVML", |reading| reading.call());
        SourceError::Other(format!(
            "{call} of {who}: the driver answered something else"
        ))
    })
}

fn of_value(value: &Value) -> Option<Answer> {
    fn all<T: Clone + Into<U>, U>(values: &[T]) -> Vec<U> {
        values.iter().cloned().map(Into::into).collect()
    }
    Some(match value {
        Value::Flag(flag) => Answer::Flag(*flag),
        Value::Number(number) => Answer::Number(*number),
        Value::Signed(number) => Answer::Signed(*number),
        Value::Count(count) => Answer::Count(*count),
        Value::Real(number) => Answer::Real(*number),
        Value::Memory(memory) => Answer::MemoryInfo((*memory).into()),
        Value::Utilization(utilization) => Answer::Utilization((*utilization).into()),
        Value::Power(power) => Answer::Power((*power).into()),
        Value::EccMode(mode) => Answer::EccMode((*mode).into()),
        Value::RemappedRows(rows) => Answer::RemappedRows((*rows).into()),
        Value::RowHistogram(banks) => Answer::RowHistogram((*banks).into()),
        Value::Nvlinks(links) => Answer::Nvlinks(all::<_, Nvlink>(links)),
        Value::Fabric(fabric) => Answer::FabricInfo(fabric.clone().into()),
        Value::ProcessUse(used) => Answer::ProcessUtilization(all::<_, ProcessUtilization>(used)),
        Value::MigDevices(devices) => Answer::MigDevices(all::<_, MigDevice>(devices)),
        Value::PcieLink(link) => Answer::PcieLink((*link).into()),
        Value::Done(())
        | Value::Identity(_)
        | Value::NvlinkErrors(_)
        | Value::SramEcc(_)
        | Value::Processes(_)
        | Value::Gpm(_) => return None,
    })
}

/// Returns the bytes that the bill counts.
fn size(gpu: &GpuAnswers) -> usize {
    let answer = |answer: &Result<Answer, AccessError>| {
        size_of::<Answer>()
            + match answer {
                Ok(Answer::Nvlinks(links)) => size_of_val(links.as_slice()),
                Ok(Answer::ComputeProcesses(found)) => found.len() * size_of::<ComputeProcess>(),
                Ok(Answer::ProcessUtilization(used)) => size_of_val(used.as_slice()),
                Ok(Answer::MigDevices(devices)) => size_of_val(devices.as_slice()),
                _ => 0,
            }
    };
    let names = gpu.uuid.len() + gpu.name.len() + gpu.bus_id.len();
    names + gpu.answers.iter().map(answer).sum::<usize>()
}

#[cfg(test)]
mod tests;
