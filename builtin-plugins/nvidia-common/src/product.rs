//! The abilities of NVIDIA's products, by NVML's name of them.
//!
//! NVML itself is no help with memory errors: it answers the question for rows on consumer boards, too. What is known is
//! in `catalog/products.json`, with its sources.

use crate::products::{ALL_THREE, FABRIC, ROWS_ONLY, SLOT_MODELS, SLOT_WORDS, SWITCHED, UNIFIED};

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
    let shown = sanitized(name);
    UNIFIED.iter().any(|end| shown.ends_with(end))
}

/// Cards for PCIe slots have no switch, whatever the chip. NVL are joined in pairs or fours by bridges.
fn is_in_slot(name: &str) -> bool {
    words(name).any(|word| {
        let word = word.as_str();
        SLOT_WORDS.contains(&word) || SLOT_MODELS.contains(&word)
    })
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
    use serde_json::{Value, json};

    fn data() -> Value {
        serde_json::from_str(include_str!("../catalog/products.json")).unwrap()
    }

    fn words_at(value: &Value) -> Vec<&str> {
        let words = value.as_array().unwrap().iter();
        words.map(|word| word.as_str().unwrap()).collect()
    }

    /// The constants say what the file says, and every model has an example of its own.
    #[test]
    fn the_table_is_that_of_the_file() {
        let data = data();
        let models = data["models"].as_array().unwrap();
        let of = |key: &str, value: Value| -> Vec<&str> {
            let models = models.iter().filter(|model| model[key] == value);
            models
                .map(|model| model["model"].as_str().unwrap())
                .collect()
        };
        let run = "run builtin-plugins/nvidia-common/products.py";
        assert_eq!(of("memory_errors", json!("all")), ALL_THREE, "{run}");
        assert_eq!(of("memory_errors", json!("rows")), ROWS_ONLY, "{run}");
        assert_eq!(of("fabric_manager", json!(true)), SWITCHED, "{run}");
        assert_eq!(of("fabric_state", json!(true)), FABRIC, "{run}");
        assert_eq!(words_at(&data["slots"]["words"]), SLOT_WORDS, "{run}");
        assert_eq!(words_at(&data["slots"]["models"]), SLOT_MODELS, "{run}");
        assert_eq!(words_at(&data["unified_memory"]), UNIFIED, "{run}");
        let examples = data["examples"].as_array().unwrap();
        for model in models {
            let model = model["model"].as_str().unwrap();
            let has_it = |example: &Value| is_one_of(example["name"].as_str().unwrap(), &[model]);
            assert!(examples.iter().any(has_it), "no example of {model}");
        }
    }

    #[test]
    fn the_examples_hold() {
        for example in data()["examples"].as_array().unwrap() {
            let name = example["name"].as_str().unwrap();
            let found = memory_errors(name);
            let memory = match (found.row_remapping, found.error_containment) {
                (true, true) => "all",
                (true, false) => "rows",
                (false, _) => "none",
            };
            assert_eq!(found.error_containment, found.dynamic_page_offlining);
            assert_eq!(example["memory_errors"], memory, "{name}");
            assert_eq!(
                example["fabric_manager"],
                has_fabric_manager(name),
                "{name}"
            );
            assert_eq!(example["fabric_state"], has_fabric_state(name), "{name}");
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
