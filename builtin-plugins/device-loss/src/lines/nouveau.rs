//! `nouveau`, the kernel's own driver of NVIDIA GPUs: `nouveau ‹id›: ‹unit›: ‹text›` (`nvkm_printk` in
//! `drivers/gpu/drm/nouveau/include/nvkm/core/subdev.h`), with the texts
//!
//! | unit and text | where below `nvkm/` |
//! |---|---|
//! | `bus: MMIO read of ‹value› FAULT at ‹address› …`, also `write` | `subdev/bus/gf100.c`, `nv50.c` |
//! | `fifo: SCHED_ERROR ‹n› [‹why›]` | `engine/fifo/gf100.c`, `gk104.c` |
//! | `fifo: fault ‹n› [‹access›] at …`, before 4.20 `read fault at …`, `write fault at …` | the same |
//! | `gr: TRAP …` | `engine/gr/gf100.c`, `nv50.c` |

use super::{Kind, MatchedLine, of_driver};

pub(super) fn find(line: &str) -> Option<MatchedLine<'_>> {
    let (device, rest) = of_driver(line, "nouveau")?;
    let (unit, text) = rest.split_once(": ")?;
    let begins = |beginnings: &[&str]| beginnings.iter().any(|start| text.starts_with(start));
    let fault = match unit {
        "bus" => begins(&["MMIO read of ", "MMIO write of "]) && text.contains(" FAULT at "),
        "fifo" => begins(&[
            "SCHED_ERROR ",
            "fault ",
            "read fault at ",
            "write fault at ",
        ]),
        "gr" => begins(&["TRAP"]),
        _ => false,
    };
    fault.then(|| MatchedLine::new(Kind::NouveauFault, device).fact("unit", unit))
}
