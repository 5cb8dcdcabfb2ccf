//! What NVIDIA's products can do, by NVML's name of them.
//!
//! NVML itself is no help with memory errors: it answers the question for rows on consumer boards, too.

/// How a product deals with errors of its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct MemoryErrors {
    /// An uncorrectable error ends the programs that met it, and no others.
    pub error_containment: bool,
    /// A page with an error is used no more, without a reset.
    pub dynamic_page_offlining: bool,
    /// A row with errors is replaced by a spare one at the next reset.
    pub row_remapping: bool,
}

/// By chip (NVIDIA, "GPU Memory Error Management", supported GPUs): boards with GA100, GH100, GB100 and GB102.
const ALL_THREE: [&str; 13] = [
    "a100", "a800", "a30", "h100", "h800", "h200", "h20", "gh200", "b100", "b200", "gb200", "b300",
    "gb300",
];
/// Boards of data centres with GA10x and AD10x.
const ROWS_ONLY: [&str; 8] = ["a2", "a10", "a16", "a40", "l2", "l4", "l20", "l40"];
/// Boards with NVLink switches on the same node.
const SWITCHED: [&str; 9] = [
    "a100", "a800", "h100", "h800", "h200", "h20", "b100", "b200", "b300",
];
/// Boards that know their state in an NVLink fabric.
const FABRIC: [&str; 9] = [
    "h100", "h800", "h200", "h20", "b100", "b200", "b300", "gb200", "gb300",
];
/// Words in names of boards for PCIe slots: without a switch, whatever the chip. NVL are joined in pairs or fours by bridges.
const IN_SLOTS: [&str; 2] = ["pcie", "nvl"];

/// How a product deals with memory errors.
pub fn memory_errors(name: &str) -> MemoryErrors {
    let all = is_one_of(name, &ALL_THREE);
    MemoryErrors {
        error_containment: all,
        dynamic_page_offlining: all,
        row_remapping: all || is_one_of(name, &ROWS_ONLY),
    }
}

/// True if a fabric manager runs on the same node as this product: it has NVLink switches there.
pub fn has_fabric_manager(name: &str) -> bool {
    is_one_of(name, &SWITCHED) && !is_in_slot(name)
}

/// True if the product tells of its place in an NVLink fabric.
pub fn has_fabric_state(name: &str) -> bool {
    is_one_of(name, &FABRIC) && !is_in_slot(name)
}

/// True if the product shares the memory of the host.
pub fn has_unified_memory(name: &str) -> bool {
    sanitized(name).ends_with("GB10")
}

fn is_in_slot(name: &str) -> bool {
    words(name).any(|word| IN_SLOTS.contains(&word.as_str()) || word == "a100x")
}

/// True if a word of the name is one of the models (in lower case), or goes on with letters (`A10G`, `A100X`, `L40S`):
/// `A1000` is no A100, and `L40` no L4.
pub fn is_one_of(name: &str, models: &[&str]) -> bool {
    words(name).any(|word| {
        models.iter().any(|model| {
            word.strip_prefix(model)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    })
}

fn words(name: &str) -> impl Iterator<Item = String> {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .map(str::to_ascii_lowercase)
}

/// The name as it is shown: `NVIDIA H100 80GB HBM3` is `NVIDIA-H100-80GB-HBM3`. Characters other than letters, digits,
/// `-`, `_`, `.` and blanks are dropped.
pub fn sanitized(name: &str) -> String {
    let kept: String = name
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ' '))
        .collect();
    kept.split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Name, memory errors (all, rows only, nothing), fabric manager, fabric state.
    #[test]
    fn known_products() {
        for (name, memory, manager, fabric) in [
            ("NVIDIA A100-SXM4-80GB", "all", true, false),
            ("NVIDIA A100-SXM4-40GB", "all", true, false),
            ("NVIDIA A100-PCIE-40GB", "all", false, false),
            ("NVIDIA A100 80GB PCIe", "all", false, false),
            ("NVIDIA A100X", "all", false, false),
            ("NVIDIA A800-SXM4-80GB", "all", true, false),
            ("NVIDIA A30", "all", false, false),
            ("NVIDIA A10", "rows", false, false),
            ("NVIDIA A10G", "rows", false, false),
            ("NVIDIA A16", "rows", false, false),
            ("NVIDIA A40", "rows", false, false),
            ("NVIDIA A2", "rows", false, false),
            ("NVIDIA L4", "rows", false, false),
            ("NVIDIA L40", "rows", false, false),
            ("NVIDIA L40S", "rows", false, false),
            ("NVIDIA H100 80GB HBM3", "all", true, true),
            ("NVIDIA-H100-80GB-HBM3", "all", true, true),
            ("NVIDIA H100 PCIe", "all", false, false),
            ("NVIDIA H100 NVL", "all", false, false),
            ("NVIDIA H200", "all", true, true),
            ("NVIDIA H200 NVL", "all", false, false),
            ("NVIDIA H20", "all", true, true),
            ("NVIDIA H800", "all", true, true),
            ("NVIDIA GH200 480GB", "all", false, false),
            ("NVIDIA B200", "all", true, true),
            ("NVIDIA GB200", "all", false, true),
            ("NVIDIA B300 SXM6 AC", "all", true, true),
            ("NVIDIA GB300", "all", false, true),
            ("NVIDIA GB10", "none", false, false),
            ("Tesla T4", "none", false, false),
            ("Tesla V100-SXM2-32GB", "none", false, false),
            ("NVIDIA GeForce RTX 4090", "none", false, false),
            ("NVIDIA RTX A1000", "none", false, false),
            ("NVIDIA RTX A2000", "none", false, false),
            ("NVIDIA RTX A4000", "none", false, false),
            ("NVIDIA RTX A6000", "none", false, false),
            ("NVIDIA Graphics Device", "none", false, false),
            ("mock", "none", false, false),
            ("", "none", false, false),
        ] {
            let found = memory_errors(name);
            assert_eq!(found.row_remapping, memory != "none", "{name}");
            assert_eq!(found.error_containment, memory == "all", "{name}");
            assert_eq!(found.dynamic_page_offlining, memory == "all", "{name}");
            assert_eq!(has_fabric_manager(name), manager, "{name}");
            assert_eq!(has_fabric_state(name), fabric, "{name}");
        }
    }

    #[test]
    fn names_as_shown() {
        for (name, shown) in [
            ("NVIDIA H100 80GB HBM3", "NVIDIA-H100-80GB-HBM3"),
            (" NVIDIA  B300 SXM6 AC ", "NVIDIA-B300-SXM6-AC"),
            ("Quadro (R) P1.5_x", "Quadro-R-P1.5_x"),
            ("", ""),
        ] {
            assert_eq!(sanitized(name), shown);
        }
        assert!(has_unified_memory("NVIDIA GB10"));
        assert!(!has_unified_memory("NVIDIA GB100"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_name_will_do(name in "\\PC{0,80}") {
            let shown = sanitized(&name);
            prop_assert!(!shown.contains(' '));
            prop_assert_eq!(memory_errors(&name), memory_errors(&name.to_ascii_uppercase()));
        }
    }
}
