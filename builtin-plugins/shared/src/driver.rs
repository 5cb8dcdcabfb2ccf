//! Is there an NVIDIA driver? Every component of NVIDIA devices begins with the same questions.

use gpud_sdk::nvml::{self, Library};
use gpud_sdk::{AccessError, CheckContext, Health, HealthState};

/// The state of NVML and its driver.
#[derive(Debug, Clone, PartialEq)]
pub struct Driver {
    /// Is it there?
    pub library: Library,
    /// Product name of the first GPU; asked only of a loaded library.
    pub product: Result<String, AccessError>,
}

impl Driver {
    /// Asks NVML.
    pub fn ask() -> Self {
        let library = nvml::library_status();
        let product = match library {
            Library::Loaded => nvml::product_name(),
            _ => Ok(String::new()),
        };
        Self { library, product }
    }

    /// True when this machine has, or is meant to have, an NVIDIA GPU. A name that does not come is no proof that there
    /// is none.
    pub fn is_there(&self) -> bool {
        self.missing().is_none()
    }

    /// Why there is nothing to look at, if so.
    pub fn missing(&self) -> Option<&'static str> {
        let nameless = || {
            let product = self.product.as_ref();
            product.is_ok_and(|name| name.trim().is_empty())
        };
        match &self.library {
            Library::Loaded if nameless() => {
                Some("NVIDIA NVML is loaded but GPU is not detected (missing product name)")
            }
            Library::Loaded | Library::Failed(_) | Library::Other(_) => None,
            Library::NotFound(_) => Some("NVIDIA NVML library is not loaded"),
        }
    }

    /// The state of a machine whose NVML is there but does not work, or of which nothing can be said yet.
    pub fn failed(&self, context: &CheckContext) -> Option<HealthState> {
        match &self.library {
            Library::Failed(text) => {
                let reason = format!("NVML initialization error: {text}");
                Some(HealthState::unhealthy(context, reason))
            }
            Library::Other(text) => Some(HealthState {
                health: Health::Initializing,
                ..HealthState::healthy(context, text)
            }),
            Library::Loaded | Library::NotFound(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_questions_in_their_order() {
        let driver = |library, product: &str| Driver {
            library,
            product: Ok(product.into()),
        };
        let unloaded = Some("NVIDIA NVML library is not loaded");
        let nameless = Some("NVIDIA NVML is loaded but GPU is not detected (missing product name)");
        let unanswered = Driver {
            library: Library::Loaded,
            product: Err(AccessError::Other("no answer".into())),
        };
        for (driver, missing) in [
            (driver(Library::Loaded, "NVIDIA H100 80GB HBM3"), None),
            (driver(Library::Loaded, " "), nameless),
            (unanswered, None),
            (driver(Library::Failed("Unknown Error".into()), ""), None),
            (
                driver(Library::NotFound("libnvidia-ml.so.1".into()), ""),
                unloaded,
            ),
            (
                driver(Library::Other("NVML has not answered yet".into()), ""),
                None,
            ),
        ] {
            assert_eq!(driver.missing(), missing, "{driver:?}");
            assert_eq!(driver.is_there(), missing.is_none(), "{driver:?}");
        }
    }
}
