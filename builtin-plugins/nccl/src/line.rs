//! Kernel lines about a process that crashed inside `libnccl.so`.
//!
//! - x86, page fault (`arch/x86/mm/fault.c`, `show_signal_msg`): `‹name›[‹pid›]: segfault at ‹address› ip … sp … error ‹n›
//!   in libnccl.so.2[…]`, since Linux 6.1 followed by ` likely on CPU ‹n› …`;
//! - x86, address that is none (`arch/x86/kernel/traps.c`, `show_signal`): `traps: ‹name›[‹pid›] general protection fault
//!   ip:… sp:… error:‹n› in libnccl.so.2[…]`, without `fault` in old kernels;
//! - arm64 (`arch/arm64/kernel/traps.c`, `arm64_show_signal`; reasons in `arch/arm64/mm/fault.c`): `‹name›[‹pid›]: unhandled
//!   exception: DABT (lower EL), ESR 0x…, level 3 translation fault in libnccl.so.2[…]`.
//!
//! GPUd knows the first. All three end the process with SIGSEGV.

use gpud_sdk::incidents::after_process;

pub use crate::patterns::PATTERNS;

/// Why arm64 ends a process with SIGSEGV; other faults are SIGBUS or worse.
const ARM64_FAULTS: [&str; 3] = ["translation fault", "permission fault", "access flag fault"];

/// True for a line that reports such a crash. All are matched from the beginning of the line, and the library is the file
/// that the kernel names: other files can be called anything.
pub fn is_crash(text: &str) -> bool {
    let line = text.split('\n').next().unwrap_or(text);
    x86_page_fault(line)
        .or_else(|| x86_protection_fault(line))
        .or_else(|| arm64_fault(line))
        .is_some_and(|file| file.starts_with("libnccl.so"))
}

/// The file in which a page fault happened.
fn x86_page_fault(line: &str) -> Option<&str> {
    const FAULT: &str = "segfault at ";
    let of_process = after_process(line, &[": ", FAULT].concat());
    let rest = of_process.or_else(|| line.strip_prefix(FAULT))?;
    Some(rest.split_once(" in ")?.1)
}

fn x86_protection_fault(line: &str) -> Option<&str> {
    let rest = after_process(line.strip_prefix("traps: ")?, " general protection")?;
    let rest = rest.strip_prefix(" fault").unwrap_or(rest);
    Some(rest.strip_prefix(" ip:")?.split_once(" in ")?.1)
}

fn arm64_fault(line: &str) -> Option<&str> {
    let (reason, file) = after_process(line, ": unhandled exception: ")?.split_once(" in ")?;
    let is_fault = ARM64_FAULTS.iter().any(|fault| reason.ends_with(fault));
    is_fault.then_some(file)
}

#[cfg(test)]
mod tests;
