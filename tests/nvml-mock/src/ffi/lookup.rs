//! Finding GPUs: count, and handles by index, UUID, serial number, bus id.

use crate::call::{found, system};
use crate::code::Code;
use crate::edge::{Handle, Out, Text, export};
use crate::scenario::gpu::Gpu;
use crate::scenario::node::{Node, bus};
use crate::state;

/// Finds a GPU (or MIG device) and writes its handle. The GPU is known before the faults are looked at.
fn look_up(
    name: &'static str,
    arg: Option<i64>,
    out: Out<Handle>,
    find: impl Fn(&Node) -> Result<(u32, Option<u32>), Code>,
) -> u32 {
    let early = state::with(state::State::peek).and_then(|node| find(&node).ok());
    system(name, early.map(|(number, _)| number), arg, |node| {
        let (number, mig) = find(&node)?;
        found(node.gpu(number).ok_or(Code::NOT_FOUND)?)?;
        out.set(Handle::encode(number, mig))
    })
}

fn by_index(node: &Node, index: u32) -> Result<(u32, Option<u32>), Code> {
    let place = usize::try_from(index).unwrap_or(usize::MAX);
    node.present
        .get(place)
        .map(|number| (*number, None))
        .ok_or(Code::INVALID_ARGUMENT)
}

fn by(node: &Node, fits: impl Fn(&Gpu) -> bool) -> Option<u32> {
    node.present
        .iter()
        .copied()
        .find(|number| node.gpu(*number).is_some_and(&fits))
}

fn by_uuid(node: &Node, uuid: &str) -> Result<(u32, Option<u32>), Code> {
    if let Some(number) = by(node, |gpu| gpu.uuid.as_deref() == Some(uuid)) {
        return Ok((number, None));
    }
    for number in &node.present {
        let Some(gpu) = node.gpu(*number) else {
            continue;
        };
        let place = (0..)
            .zip(gpu.mig.devices())
            .find(|(place, mig)| super::mig::uuid(gpu, mig, *place) == uuid);
        if let Some((place, _)) = place {
            return Ok((*number, Some(place)));
        }
    }
    Err(Code::NOT_FOUND)
}

fn by_bus_id(node: &Node, id: &str) -> Result<(u32, Option<u32>), Code> {
    // `0f:00.0` without a domain means domain 0.
    let with_domain = if id.matches(':').count() == 1 {
        format!("0:{id}")
    } else {
        id.to_owned()
    };
    let wanted = bus(&with_domain).ok_or(Code::INVALID_ARGUMENT)?;
    let number = by(node, |gpu| {
        gpu.pci.bus_id.as_deref().and_then(bus) == Some(wanted)
    })
    .ok_or(Code::NOT_FOUND)?;
    Ok((number, None))
}

export! {
    system nvmlDeviceGetCount_v2(count: Out<u32>) [] |node| count.set(u32::try_from(node.present.len()).unwrap_or(u32::MAX));
    system nvmlDeviceGetCount(count: Out<u32>) [] |node| count.set(u32::try_from(node.present.len()).unwrap_or(u32::MAX));
    any nvmlDeviceGetIndex(index: Out<u32>) [] |target| {
        if let Some(mig) = target.mig {
            return index.set(mig);
        }
        let place = target.node.present.iter().position(|number| *number == target.number);
        index.set(place.and_then(|p| u32::try_from(p).ok()).ok_or(Code::INVALID_ARGUMENT)?)
    };
}

/// Exports lookups; they have their own way in, see [`look_up`].
macro_rules! lookups {
    ($($name:ident($arg:ident: $type:ty) [$key:expr] $find:expr;)*) => {$(
        #[allow(unsafe_code, non_snake_case, reason = "the C ABI wants this name, as it is")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($arg: $type, device: Out<Handle>) -> u32 {
            look_up(stringify!($name), $key, device, |node| $find(node, &$arg))
        }
    )*};
}

lookups! {
    nvmlDeviceGetHandleByIndex_v2(index: u32) [Some(i64::from(index))] |node: &Node, index: &u32| by_index(node, *index);
    nvmlDeviceGetHandleByIndex(index: u32) [Some(i64::from(index))] |node: &Node, index: &u32| by_index(node, *index);
    nvmlDeviceGetHandleByUUID(uuid: Text) [None] |node: &Node, uuid: &Text| by_uuid(node, uuid.get()?);
    nvmlDeviceGetHandleByPciBusId_v2(id: Text) [None] |node: &Node, id: &Text| by_bus_id(node, id.get()?);
    nvmlDeviceGetHandleByPciBusId(id: Text) [None] |node: &Node, id: &Text| by_bus_id(node, id.get()?);
    nvmlDeviceGetHandleBySerial(serial: Text) [None] |node: &Node, serial: &Text| {
        let wanted = serial.get()?;
        by(node, |gpu| gpu.serial.as_deref() == Some(wanted)).map(|number| (number, None)).ok_or(Code::NOT_FOUND)
    };
}
