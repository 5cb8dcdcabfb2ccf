//! What a reason says of one GPU or switch, as the end of a sentence about it.

use super::{components::NVIDIA, meaning::captures, xids::Code};

/// What is wrong with a subject, to follow its name, and how much that says: 0 says most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Predicate {
    /// `fell off the bus: Xid 79`.
    pub text: String,
    /// Among the states of a trouble the one with the least speaks for it.
    pub weight: u8,
}

/// What is said of a GPU that the driver has lost.
const LOST: &str = "is lost: it fell off the bus or does not answer";

impl Predicate {
    /// Whether the GPU is gone.
    pub fn is_lost(&self) -> bool {
        self.text == LOST || self.text.starts_with("fell off the bus")
    }
}

/// The weight of a state that only repeats what another one says better.
pub(super) const PLAIN: u8 = 9;

/// What a reason says of one GPU or switch, where that is known.
pub(super) fn predicate(component: &str, reason: &str) -> Option<Predicate> {
    let known = |text: &str, weight| {
        Some(Predicate {
            text: text.to_owned(),
            weight,
        })
    };
    if let Some(code) = Code::read(reason).filter(|_| component.starts_with(NVIDIA)) {
        return known(&code.phrase(), 0);
    }
    let first = reason.split("; ").next().unwrap_or_default();
    if let Some(values) = captures("{} with unhealthy fabric state: GPU {}: {}", first) {
        let what = values.get(2).copied().unwrap_or_default();
        return known(&format!("has trouble with its NVLink fabric: {what}"), 5);
    }
    if let Some(values) = captures("GPU {} needs a {}", first) {
        let what = values.get(1).copied().unwrap_or_default();
        return known(&format!("needs a {what}"), 2);
    }
    match first {
        "GPU lost" => known(LOST, 1),
        "GPU requires reset" => known("needs a reset", 1),
        _ => {
            let (_, time) = first.split_once(" has not answered for ")?;
            let time = time.split(',').next().unwrap_or_default();
            known(&format!("has not answered for {time}"), 3)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_said_of_one_gpu() {
        let of = |reason: &str| {
            let found = predicate("accelerator-nvidia-power", reason)?;
            Some((found.text, found.weight))
        };
        let expected = |text: &str, weight| Some((text.to_owned(), weight));
        assert_eq!(
            of("GPU lost; error getting power"),
            expected("is lost: it fell off the bus or does not answer", 1)
        );
        assert_eq!(
            of("GPU GPU-1 (0000:3b:00.0) needs a reset of its PCIe bus; x"),
            expected("needs a reset of its PCIe bus", 2)
        );
        assert_eq!(
            of("GPU-1 (0000:3b:00.0) has not answered for 30 s, last answer at 2026"),
            expected("has not answered for 30 s", 3)
        );
        assert_eq!(
            of("NVIDIA-H100 with unhealthy fabric state: GPU GPU-1: status=x; y"),
            expected("has trouble with its NVLink fabric: status=x", 5)
        );
        assert_eq!(of("error getting power"), None);
        assert_eq!(predicate("my-plugin", "XID 79 x detected on GPU y"), None);
    }

    proptest! {
        #[test]
        fn any_reason_is_read(reason in "(\\PC|; |GPU|\\(s\\)|[0-9]| ){0,30}") {
            predicate("accelerator-nvidia-power", &reason);
        }
    }
}
