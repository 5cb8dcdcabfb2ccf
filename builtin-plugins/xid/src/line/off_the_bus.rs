//! Kernel lines about a GPU that has fallen off the bus, without Xid 79.
//!
//! One line (`NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.`), or a message over several lines that begins `NVRM:
//! The NVIDIA GPU 0000:3b:00.0`. Within one record of the kernel log the line ends of the latter appear as `\x0a`.

/// The GPU of such a line, of which this follows the driver's name: `PCI:` and its id without the function, the domain
/// filled in.
pub(super) fn device(line: &str) -> Option<String> {
    let line = line.trim_ascii_start();
    if let Some(line) = line.strip_prefix("GPU ") {
        let (id, rest) = id(line)?;
        let rest = rest.strip_prefix(':')?.trim_ascii_start();
        return rest.starts_with("GPU has fallen off the bus").then_some(id);
    }
    let (id, rest) = id(line.strip_prefix("The NVIDIA GPU ")?)?;
    rest.contains("fallen off the bus and is not responding to commands.")
        .then_some(id)
}

/// Reads `[‹domain›:]‹bus›:‹device›.0`. A domain has four digits; lenient: up to eight.
fn id(text: &str) -> Option<(String, &str)> {
    let end = text
        .bytes()
        .take_while(|byte| byte.is_ascii_hexdigit() || *byte == b':')
        .count();
    let (id, rest) = text.split_at_checked(end)?;
    let rest = rest.strip_prefix(".0")?;
    let mut parts = id.rsplitn(3, ':').map(str::len);
    let shape = (parts.next(), parts.next(), parts.next());
    let id = match shape {
        (Some(2), Some(2), None) => format!("PCI:0000:{id}"),
        (Some(2), Some(2), Some(4..=8)) if id.matches(':').count() == 2 => format!("PCI:{id}"),
        _ => return None,
    };
    Some((id, rest))
}
