//! ECC, row remapping, page retirement.

use nvml_wrapper_sys::bindings::{
    nvmlEccErrorCounts_t, nvmlEccSramErrorStatus_v1_t, nvmlRowRemapperHistogramValues_t,
};

use super::enabled;
use crate::call::{Target, have};
use crate::code::Code;
use crate::edge::{Out, export};
use crate::scenario::ecc::{Ecc, EccCounts};
use crate::struct_version;

fn ecc(target: &Target) -> Result<&Ecc, Code> {
    Ok(&target.gpu()?.ecc)
}

fn counts(target: &Target, error: u32, period: u32) -> Result<&EccCounts, Code> {
    let ecc = ecc(target)?;
    let counts = ecc.counts(error, period).ok_or(Code::INVALID_ARGUMENT)?;
    if ecc.current == Some(true) {
        Ok(counts)
    } else {
        Err(Code::NOT_SUPPORTED)
    }
}

fn pages(target: &Target, cause: u32) -> Result<&[u64], Code> {
    let pages = &target.gpu()?.retired_pages;
    let list = match cause {
        0 => &pages.single_bit,
        1 => &pages.double_bit,
        _ => return Err(Code::INVALID_ARGUMENT),
    };
    list.as_deref().ok_or(Code::NOT_SUPPORTED)
}

fn give_pages(
    list: &[u64],
    count: Out<u32>,
    addresses: Out<u64>,
    times: Option<Out<u64>>,
) -> Result<(), Code> {
    let room = count.get()?;
    let needed = u32::try_from(list.len()).unwrap_or(u32::MAX);
    count.set(needed)?;
    if needed == 0 {
        return Ok(());
    }
    if room < needed || addresses.is_null() {
        return Err(Code::INSUFFICIENT_SIZE);
    }
    addresses.fill(list)?;
    match times {
        Some(times) => times.fill(&vec![0; list.len()]),
        None => Ok(()),
    }
}

export! {
    device nvmlDeviceGetEccMode(current: Out<u32>, pending: Out<u32>) [] |target| {
        let ecc = ecc(target)?;
        current.set(enabled(have(&ecc.current)?))?;
        pending.set(enabled(have(&ecc.pending.or(ecc.current))?))
    };
    device nvmlDeviceGetDefaultEccMode(mode: Out<u32>) [] |target| mode.set(enabled(have(&ecc(target)?.default)?));
    device nvmlDeviceGetTotalEccErrors(error: u32, period: u32, count: Out<u64>) [error] |target| {
        count.set(have(&counts(target, error, period)?.sum())?)
    };
    device nvmlDeviceGetMemoryErrorCounter(error: u32, period: u32, location: u32, count: Out<u64>) [location] |target| {
        count.set(have(&counts(target, error, period)?.at(location).ok_or(Code::INVALID_ARGUMENT)?)?)
    };
    device nvmlDeviceGetDetailedEccErrors(error: u32, period: u32, out: Out<nvmlEccErrorCounts_t>) [error] |target| {
        let counts = counts(target, error, period)?;
        out.set(nvmlEccErrorCounts_t {
            l1Cache: counts.l1.unwrap_or(0),
            l2Cache: counts.l2.unwrap_or(0),
            deviceMemory: counts.dram.unwrap_or(0),
            registerFile: counts.register_file.unwrap_or(0),
        })
    };
    device nvmlDeviceGetSramEccErrorStatus(out: Out<nvmlEccSramErrorStatus_v1_t>) [] |target| {
        let version = out.version(&[struct_version::<nvmlEccSramErrorStatus_v1_t>(1)])?;
        let sram = |error, period| Ok::<u64, Code>(counts(target, error, period)?.sram.unwrap_or(0));
        let (aggregate, volatile) = (sram(1, 1)?, sram(1, 0)?);
        let of = &ecc(target)?.sram;
        let [aggregate_parity, volatile_parity] = [of.aggregate_parity, of.volatile_parity].map(|errors| errors.unwrap_or(0));
        let [l2, sm, pcie, mcu] = [of.l2, of.sm, of.pcie, of.microcontroller].map(|errors| errors.unwrap_or(0));
        out.set(nvmlEccSramErrorStatus_v1_t {
            version,
            aggregateUncParity: aggregate_parity,
            aggregateUncSecDed: aggregate.saturating_sub(aggregate_parity),
            aggregateCor: sram(0, 1)?,
            volatileUncParity: volatile_parity,
            volatileUncSecDed: volatile.saturating_sub(volatile_parity),
            volatileCor: sram(0, 0)?,
            aggregateUncBucketL2: l2,
            aggregateUncBucketSm: sm,
            aggregateUncBucketPcie: pcie,
            aggregateUncBucketMcu: mcu,
            aggregateUncBucketOther: [l2, sm, pcie, mcu].into_iter().fold(aggregate, u64::saturating_sub),
            bThresholdExceeded: enabled(have(&ecc(target)?.sram_threshold_exceeded)?),
        })
    };
    device nvmlDeviceGetRemappedRows(corrected: Out<u32>, uncorrected: Out<u32>, pending: Out<u32>, failed: Out<u32>) [] |target| {
        let rows = &target.gpu()?.remapped_rows;
        corrected.set(have(&rows.correctable)?)?;
        uncorrected.set(have(&rows.uncorrectable)?)?;
        pending.set(enabled(have(&rows.pending)?))?;
        failed.set(enabled(have(&rows.failed)?))
    };
    device nvmlDeviceGetRowRemapperHistogram(out: Out<nvmlRowRemapperHistogramValues_t>) [] |target| {
        let [max, high, partial, low, none] = have(&target.gpu()?.remapped_rows.histogram)?;
        out.set(nvmlRowRemapperHistogramValues_t { max, high, partial, low, none })
    };
    device nvmlDeviceGetRetiredPages(cause: u32, count: Out<u32>, addresses: Out<u64>) [cause] |target| {
        give_pages(pages(target, cause)?, count, addresses, None)
    };
    device nvmlDeviceGetRetiredPages_v2(cause: u32, count: Out<u32>, addresses: Out<u64>, times: Out<u64>) [cause] |target| {
        give_pages(pages(target, cause)?, count, addresses, Some(times))
    };
    device nvmlDeviceGetRetiredPagesPendingStatus(pending: Out<u32>) [] |target| {
        pending.set(enabled(have(&target.gpu()?.retired_pages.pending)?))
    };
}
