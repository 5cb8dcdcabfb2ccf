//! What to do, in words.

use crate::model::RepairAction;

/// An action as a person would say it; nothing where nothing has to be done.
pub(super) fn phrase(action: &RepairAction) -> Option<String> {
    match action {
        RepairAction::IgnoreNoActionRequired => None,
        RepairAction::RebootSystem => Some("Reboot the node".to_owned()),
        RepairAction::HardwareInspection => Some("Have the hardware inspected".to_owned()),
        RepairAction::CheckUserAppAndGpu => {
            Some("Check the application that used the GPU, then the GPU".to_owned())
        }
        RepairAction::Other(word) => {
            let words = word.replace('_', " ").to_lowercase();
            let mut letters = words.chars();
            let first = letters.next()?.to_uppercase();
            Some(first.collect::<String>() + letters.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_api_and_of_plugins() {
        for (word, expected) in [
            ("REBOOT_SYSTEM", Some("Reboot the node")),
            ("HARDWARE_INSPECTION", Some("Have the hardware inspected")),
            ("IGNORE_NO_ACTION_REQUIRED", None),
            ("REPLACE_FAN", Some("Replace fan")),
            ("", None),
        ] {
            assert_eq!(
                phrase(&RepairAction::from(word)).as_deref(),
                expected,
                "{word}"
            );
        }
    }
}
