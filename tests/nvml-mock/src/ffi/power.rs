//! Power and energy.

use crate::call::{Target, have};
use crate::code::Code;
use crate::edge::{Out, export};
use crate::scenario::gpu::Power;
use crate::state;

fn power(target: &Target) -> Result<&Power, Code> {
    Ok(&target.gpu()?.power)
}

/// Energy so far: what the scenario says, and the usage since then.
pub fn energy(power: &Power) -> Result<u64, Code> {
    let since = state::with(|state| state.now_ms());
    let grown = u64::from(power.usage.unwrap_or(0)).saturating_mul(since) / 1000;
    Ok(have(&power.energy)?.saturating_add(grown))
}

export! {
    device nvmlDeviceGetPowerUsage(mw: Out<u32>) [] |target| mw.set(have(&power(target)?.usage)?);
    device nvmlDeviceGetPowerManagementLimit(mw: Out<u32>) [] |target| mw.set(have(&power(target)?.limit)?);
    device nvmlDeviceGetEnforcedPowerLimit(mw: Out<u32>) [] |target| {
        let power = power(target)?;
        mw.set(have(&power.enforced_limit.or(power.limit))?)
    };
    device nvmlDeviceGetPowerManagementDefaultLimit(mw: Out<u32>) [] |target| mw.set(have(&power(target)?.default_limit)?);
    device nvmlDeviceGetPowerManagementLimitConstraints(min: Out<u32>, max: Out<u32>) [] |target| {
        let power = power(target)?;
        min.set(have(&power.min_limit)?)?;
        max.set(have(&power.max_limit)?)
    };
    device nvmlDeviceGetPowerManagementMode(mode: Out<u32>) [] |target| mode.set(u32::from(power(target)?.limit.is_some()));
    device nvmlDeviceGetTotalEnergyConsumption(mj: Out<u64>) [] |target| mj.set(energy(power(target)?)?);
    device nvmlDeviceGetPowerSource(source: Out<u32>) [] |target| source.set(have(&power(target)?.source)?);
    device nvmlDeviceGetPowerState(state: Out<u32>) [] |target| state.set(have(&target.gpu()?.performance_state)?);
    device nvmlDeviceGetPerformanceState(state: Out<u32>) [] |target| state.set(have(&target.gpu()?.performance_state)?);
}
