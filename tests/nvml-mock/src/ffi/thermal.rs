//! Temperatures and fans.

use nvml_wrapper_sys::bindings::{
    nvmlFanSpeedInfo_v1_t, nvmlMarginTemperature_v1_t, nvmlTemperature_v1_t,
};

use crate::call::{Target, have};
use crate::code::Code;
use crate::edge::{Out, export};
use crate::struct_version;

fn sensor(target: &Target, sensor: u32) -> Result<u32, Code> {
    let temperature = &target.gpu()?.temperature;
    match sensor {
        0 => have(&temperature.gpu),
        1 => temperature.sensor_1.ok_or(Code::INVALID_ARGUMENT),
        _ => Err(Code::INVALID_ARGUMENT),
    }
}

fn fan(fans: &Option<Vec<u32>>, number: u32) -> Result<u32, Code> {
    let fans = fans.as_deref().ok_or(Code::NOT_SUPPORTED)?;
    fans.get(usize::try_from(number).unwrap_or(usize::MAX))
        .copied()
        .ok_or(Code::INVALID_ARGUMENT)
}

export! {
    device nvmlDeviceGetTemperature(kind: u32, degrees: Out<u32>) [kind] |target| degrees.set(sensor(target, kind)?);
    device nvmlDeviceGetTemperatureV(info: Out<nvmlTemperature_v1_t>) [] |target| {
        let version = info.version(&[struct_version::<nvmlTemperature_v1_t>(1)])?;
        let asked = info.get()?;
        let degrees = sensor(target, asked.sensorType)?;
        info.set(nvmlTemperature_v1_t { version, temperature: degrees.cast_signed(), ..asked })
    };
    device nvmlDeviceGetTemperatureThreshold(kind: u32, degrees: Out<u32>) [kind] |target| {
        let temperature = &target.gpu()?.temperature;
        degrees.set(have(match kind {
            0 => &temperature.shutdown,
            1 => &temperature.slowdown,
            2 => &temperature.memory_max,
            3 => &temperature.gpu_max,
            4..=7 => &None,
            _ => return Err(Code::INVALID_ARGUMENT),
        })?)
    };
    device nvmlDeviceGetMarginTemperature(info: Out<nvmlMarginTemperature_v1_t>) [] |target| {
        let version = info.version(&[struct_version::<nvmlMarginTemperature_v1_t>(1)])?;
        info.set(nvmlMarginTemperature_v1_t { version, marginTemperature: have(&target.gpu()?.temperature.margin)? })
    };
    device nvmlDeviceGetNumFans(count: Out<u32>) [] |target| {
        let fans = have(&target.gpu()?.fans)?;
        count.set(u32::try_from(fans.len()).unwrap_or(u32::MAX))
    };
    device nvmlDeviceGetFanSpeed(percent: Out<u32>) [] |target| percent.set(fan(&target.gpu()?.fans, 0)?);
    device nvmlDeviceGetFanSpeed_v2(number: u32, percent: Out<u32>) [number] |target| percent.set(fan(&target.gpu()?.fans, number)?);
    device nvmlDeviceGetTargetFanSpeed(number: u32, percent: Out<u32>) [number] |target| percent.set(fan(&target.gpu()?.fans, number)?);
    device nvmlDeviceGetFanSpeedRPM(info: Out<nvmlFanSpeedInfo_v1_t>) [] |target| {
        let version = info.version(&[struct_version::<nvmlFanSpeedInfo_v1_t>(1)])?;
        let asked = info.get()?;
        info.set(nvmlFanSpeedInfo_v1_t { version, fan: asked.fan, speed: fan(&target.gpu()?.fans_rpm, asked.fan)? })
    };
}
