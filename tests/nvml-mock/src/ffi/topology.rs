//! How GPUs are connected with each other and with the CPUs.

use std::ffi::c_ulong;

use crate::call::{Target, found, have};
use crate::code::Code;
use crate::edge::{Handle, Out, export};
use crate::scenario::node::Node;

/// The other GPU of a pair.
fn other(target: &Target, handle: Handle) -> Result<u32, Code> {
    let (number, None) = handle.decode().ok_or(Code::INVALID_ARGUMENT)? else {
        return Err(Code::INVALID_ARGUMENT);
    };
    let gpu = target.node.gpu(number).ok_or(Code::INVALID_ARGUMENT)?;
    found(gpu)?;
    Ok(number)
}

/// `nvmlGpuTopologyLevel_t`: 40 on one NUMA node, 50 across.
fn level(node: &Node, a: u32, b: u32) -> u32 {
    let numa = |number| node.gpu(number).and_then(|gpu| gpu.numa_node);
    if numa(a) == numa(b) { 40 } else { 50 }
}

/// Nodes or CPUs as bits: this NUMA node, or 64 CPUs of it.
fn bits(size: u32, set: Out<c_ulong>, mask: impl Fn(u32) -> u64) -> Result<(), Code> {
    if size == 0 {
        return Err(Code::INVALID_ARGUMENT);
    }
    for word in 0..size {
        set.at(usize::try_from(word).unwrap_or(0))?
            .set(mask(word))?;
    }
    Ok(())
}

fn cpus(target: &Target, size: u32, set: Out<c_ulong>) -> Result<(), Code> {
    let numa = have(&target.gpu()?.numa_node)?;
    bits(size, set, |word| if word == numa { u64::MAX } else { 0 })
}

export! {
    device nvmlDeviceGetP2PStatus(second: Handle, index: u32, status: Out<u32>) [index] |target| {
        if index > 4 {
            return Err(Code::INVALID_ARGUMENT);
        }
        let second = other(target, second)?;
        status.set(target.node.p2p_status(target.number, second, index))
    };
    device nvmlDeviceGetTopologyCommonAncestor(second: Handle, out: Out<u32>) [] |target| {
        let second = other(target, second)?;
        out.set(if second == target.number { 0 } else { level(&target.node, target.number, second) })
    };
    device nvmlDeviceGetTopologyNearestGpus(wanted: u32, count: Out<u32>, list: Out<Handle>) [wanted] |target| {
        let others = target.node.present.iter().filter(|number| **number != target.number);
        let near: Vec<Handle> = others
            .filter(|number| level(&target.node, target.number, **number) == wanted)
            .map(|number| Handle::encode(*number, None))
            .collect();
        let room = count.get()?;
        count.set(u32::try_from(near.len()).unwrap_or(u32::MAX))?;
        let given = near.get(..near.len().min(usize::try_from(room).unwrap_or(0))).unwrap_or_default();
        if list.is_null() { Ok(()) } else { list.fill(given) }
    };
    device nvmlDeviceOnSameBoard(second: Handle, same: Out<i32>) [] |target| {
        let second = other(target, second)?;
        same.set(i32::from(second == target.number))
    };
    device nvmlDeviceGetCpuAffinity(size: u32, set: Out<c_ulong>) [] |target| cpus(target, size, set);
    device nvmlDeviceGetCpuAffinityWithinScope(size: u32, set: Out<c_ulong>, _scope: u32) [] |target| cpus(target, size, set);
    device nvmlDeviceGetMemoryAffinity(size: u32, set: Out<c_ulong>, _scope: u32) [] |target| {
        let numa = have(&target.gpu()?.numa_node)?;
        bits(size, set, |word| if numa / 64 == word { 1 << (numa % 64) } else { 0 })
    };
}
