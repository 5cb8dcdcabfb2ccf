//! `nvmlDeviceGetFieldValues`: many readings by number. Ids: `NVML_FI_*` of the header.

#![allow(non_snake_case, reason = "variables named as the fields of C structs")]

use nvml_wrapper_sys::bindings::{nvmlFieldValue_t, nvmlValue_t};

use super::nvlink::grown;
use super::process::now_us;
use crate::call::{Target, have};
use crate::code::Code;
use crate::edge::{Out, export};
use crate::scenario::gpu::Gpu;
use crate::scenario::nvlink::Link;
use crate::scenario::tables::FieldSpec;

/// A value and its type on the wire.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Double(f64),
    Uint(u32),
    Ulonglong(u64),
    Signed(i64),
}

impl Value {
    /// `nvmlValueType_t` and the union.
    fn wire(self) -> (u32, nvmlValue_t) {
        match self {
            Value::Double(value) => (0, nvmlValue_t { dVal: value }),
            // The union is as wide as the widest, so that no byte of it is left over from the caller.
            Value::Uint(value) => (
                1,
                nvmlValue_t {
                    ullVal: u64::from(value),
                },
            ),
            Value::Ulonglong(value) => (3, nvmlValue_t { ullVal: value }),
            Value::Signed(value) => (4, nvmlValue_t { sllVal: value }),
        }
    }
}

fn uint(reading: &Option<u32>) -> Result<Value, Code> {
    have(reading).map(Value::Uint)
}

fn long(reading: &Option<u64>) -> Result<Value, Code> {
    have(reading).map(Value::Ulonglong)
}

fn flag(reading: &Option<bool>) -> Result<Value, Code> {
    have(reading).map(|on| Value::Uint(u32::from(on)))
}

/// A link by the scope, or the sum over all links with scope all ones.
fn link(gpu: &Gpu, scope: u32, read: impl Fn(&Link) -> Result<u64, Code>) -> Result<Value, Code> {
    if gpu.nvlink.links.is_empty() {
        return Err(Code::NOT_SUPPORTED);
    }
    if scope == u32::MAX {
        return gpu
            .nvlink
            .links
            .iter()
            .try_fold(0_u64, |sum, link| Ok(sum.saturating_add(read(link)?)))
            .map(Value::Ulonglong);
    }
    let link = gpu
        .nvlink
        .links
        .get(usize::try_from(scope).unwrap_or(usize::MAX))
        .ok_or(Code::INVALID_ARGUMENT)?;
    read(link).map(Value::Ulonglong)
}

/// The n-th link, or their sum: fields that have one number for each link.
fn lane(
    gpu: &Gpu,
    id: u32,
    first: u32,
    total: u32,
    read: impl Fn(&Link) -> Result<u64, Code>,
) -> Result<Value, Code> {
    link(gpu, if id == total { u32::MAX } else { id - first }, read)
}

/// ECC fields 3 to 28: error type, period and place.
fn ecc(gpu: &Gpu, id: u32) -> Result<Value, Code> {
    if gpu.ecc.current != Some(true) {
        return Err(Code::NOT_SUPPORTED);
    }
    let (error, period, place) = match id {
        3 => (0, 0, None),
        4 => (1, 0, None),
        5 => (0, 1, None),
        6 => (1, 1, None),
        // L1, L2, device, register file, texture: corrected and uncorrected in turn, then uncorrected CBU.
        7..=16 => ((id - 7) % 2, 0, Some((id - 7) / 2)),
        17 => (1, 0, Some(6)),
        18..=27 => ((id - 18) % 2, 1, Some((id - 18) / 2)),
        28 => (1, 1, Some(6)),
        _ => return Err(Code::INVALID_ARGUMENT),
    };
    let counts = gpu
        .ecc
        .counts(error, period)
        .ok_or(Code::INVALID_ARGUMENT)?;
    long(&match place {
        None => counts.sum(),
        Some(place) => counts.at(place).flatten(),
    })
}

fn read(gpu: &Gpu, id: u32, scope: u32) -> Result<Value, Code> {
    let count = |list: &Option<Vec<u64>>| {
        list.as_ref()
            .map(|l| u32::try_from(l.len()).unwrap_or(u32::MAX))
    };
    match id {
        1 => flag(&gpu.ecc.current),
        2 => flag(&gpu.ecc.pending.or(gpu.ecc.current)),
        3..=28 => ecc(gpu, id),
        29 => uint(&count(&gpu.retired_pages.single_bit)),
        30 => uint(&count(&gpu.retired_pages.double_bit)),
        31 => flag(&gpu.retired_pages.pending),
        32..=38 => lane(gpu, id, 32, 38, |l| have(&l.crc_flit)),
        39..=45 => lane(gpu, id, 39, 45, |l| have(&l.crc_data)),
        46..=52 => lane(gpu, id, 46, 52, |l| have(&l.replay)),
        53..=59 => lane(gpu, id, 53, 59, |l| have(&l.recovery)),
        74..=81 => long(&gpu.clocks.violation_ns),
        82 => uint(&gpu.temperature.memory),
        83 => super::power::energy(&gpu.power).map(Value::Ulonglong),
        90 => link(gpu, 0, |l| have(&l.speed_mbps).map(u64::from)),
        91 => Ok(Value::Uint(
            u32::try_from(gpu.nvlink.links.len()).unwrap_or(u32::MAX),
        )),
        94 => uint(&gpu.pci.replays),
        95 => uint(&gpu.pci.replay_rollovers),
        138 | 140 | 202 => link(gpu, scope, |l| grown(&l.tx_kib, &l.tx_kib_s)),
        139 | 141 | 204 => link(gpu, scope, |l| grown(&l.rx_kib, &l.rx_kib_s)),
        142 => uint(&gpu.remapped_rows.correctable),
        143 => uint(&gpu.remapped_rows.uncorrectable),
        144 => flag(&gpu.remapped_rows.pending),
        145 => flag(&gpu.remapped_rows.failed),
        147 => link(gpu, u32::MAX, |l| {
            Ok(u64::from(
                l.remote_type == Some(2) && l.active == Some(true),
            ))
        }),
        160 => link(gpu, u32::MAX, |l| have(&l.ecc_data)),
        161 => link(gpu, scope, |l| have(&l.replay)),
        162 => link(gpu, scope, |l| have(&l.recovery)),
        163 => link(gpu, scope, |l| have(&l.crc_flit)),
        164 => link(gpu, scope, |l| have(&l.speed_mbps).map(u64::from)),
        165 => link(gpu, scope, |l| have(&l.active).map(u64::from)),
        166 => link(gpu, scope, |l| have(&l.version).map(u64::from)),
        167 => link(gpu, scope, |l| have(&l.power_state).map(u64::from)),
        169 => uint(&gpu.pci.l0_to_recovery),
        173 => uint(&gpu.pci.correctable_errors),
        179 => uint(&gpu.pci.non_fatal_errors),
        180 => uint(&gpu.pci.fatal_errors),
        185 => uint(&gpu.power.average.or(gpu.power.usage)),
        186 => uint(&gpu.power.usage),
        187 => uint(&gpu.power.min_limit),
        188 => uint(&gpu.power.max_limit),
        189 => uint(&gpu.power.default_limit),
        190 => uint(&gpu.power.enforced_limit.or(gpu.power.limit)),
        192 => uint(&gpu.power.limit),
        206 => link(gpu, scope, |l| have(&l.malformed_packets)),
        213 => link(gpu, scope, |l| have(&l.recoveries_ok)),
        214 => link(gpu, scope, |l| have(&l.recoveries_failed)),
        215 => link(gpu, scope, |l| {
            Ok(have(&l.recoveries_ok)?.saturating_add(have(&l.recoveries_failed)?))
        }),
        219 => link(gpu, scope, |l| have(&l.effective_errors)),
        221 => link(gpu, scope, |l| have(&l.symbol_errors)),
        226 => Ok(Value::Uint(u32::from(gpu.recovery_action == Some(1)))),
        227 => Ok(Value::Uint(u32::from(gpu.recovery_action == Some(4)))),
        230 => uint(&gpu.recovery_action),
        _ => Err(Code::NOT_SUPPORTED),
    }
}

/// The scenario's own table first, the more exact key before the other.
fn answer(gpu: &Gpu, id: u32, scope: u32) -> Result<Value, Code> {
    let spec = gpu
        .fields
        .get(&format!("{id}:{scope}"))
        .or_else(|| gpu.fields.get(&id.to_string()));
    match spec {
        Some(FieldSpec::Whole(value)) => Ok(Value::Ulonglong(*value)),
        Some(FieldSpec::Signed(value)) => Ok(Value::Signed(*value)),
        Some(FieldSpec::Fraction(value)) => Ok(Value::Double(*value)),
        Some(FieldSpec::Fails { error }) => Err(*error),
        None => read(gpu, id, scope),
    }
}

fn all(target: &Target, count: i32, list: Out<nvmlFieldValue_t>) -> Result<(), Code> {
    let count = usize::try_from(count)
        .ok()
        .filter(|count| *count > 0)
        .ok_or(Code::INVALID_ARGUMENT)?;
    let gpu = target.gpu()?;
    for place in 0..count {
        let entry = list.at(place)?;
        let asked = entry.get()?;
        let answer = answer(gpu, asked.fieldId, asked.scopeId);
        let (valueType, value) = answer.unwrap_or(Value::Ulonglong(0)).wire();
        entry.set(nvmlFieldValue_t {
            timestamp: i64::try_from(now_us()).unwrap_or(0),
            latencyUsec: 1,
            valueType,
            nvmlReturn: answer.err().unwrap_or(Code::SUCCESS).0,
            value,
            ..asked
        })?;
    }
    Ok(())
}

export! {
    device nvmlDeviceGetFieldValues(count: i32, list: Out<nvmlFieldValue_t>) [] |target| all(target, count, list);
    device nvmlDeviceClearFieldValues(_count: i32, _list: Out<nvmlFieldValue_t>) [] |_target| Err(Code::NOT_SUPPORTED);
}
