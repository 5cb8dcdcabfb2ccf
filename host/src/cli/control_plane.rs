//! Flags of `gpud run` and `gpud up` for a hosted platform. They are checked and have no effect.

/// Flags that were given and have no effect here.
#[derive(Debug, Default)]
pub struct ControlPlane(Vec<String>);

impl ControlPlane {
    /// Takes one down.
    pub fn flag(&mut self, name: &str, given: bool) {
        if given {
            self.0.push(format!("--{name}"));
        }
    }

    /// One line about all of them.
    pub fn note(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| {
            format!(
                "this build has no control plane and no self-update: {} ignored",
                self.0.join(", ")
            )
        })
    }
}

/// Checks a session protocol, as GPUd does: the flag's, else that of the environment. True if it asks for something.
///
/// # Errors
/// There is no such protocol.
pub fn session_protocol(flag: Option<&str>) -> Result<bool, String> {
    let environment = std::env::var("GPUD_SESSION_PROTOCOL").unwrap_or_default();
    match flag.unwrap_or(&environment) {
        "" | "auto" => Ok(false),
        "v1" | "v2" => Ok(flag.is_some()),
        other => Err(format!(
            "invalid session protocol {other:?}: it is v1, v2 or auto"
        )),
    }
}
