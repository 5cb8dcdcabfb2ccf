//! `config`: the component's configuration as a JSON document.

use super::{Call, wire::config::Host};

impl Host for Call {
    async fn document(&mut self) -> String {
        let empty = || "{}".to_owned();
        match self.enter("config") {
            Ok(_) if self.charge("config", self.config.len()).is_ok() => self.config.to_string(),
            Ok(_) | Err(_) => empty(),
        }
    }
}
