//! `network-latency`: how long it takes to connect to places that the operator named. Without any, nothing is asked:
//! the machine calls nobody on its own account.

pub mod config;
pub mod evaluate;

use gpud_sdk::findings;
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report, net};

use config::Config;

/// The checker.
pub struct NetworkLatency;

impl Checker for NetworkLatency {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let measured = evaluate::measure(&config, |endpoint, timeout_ms| {
            net::tcp_connect(&endpoint.host, endpoint.port, timeout_ms)
        });
        findings::check(|before| evaluate::judge(context, &config, &measured, before))
    }
}

gpud_sdk::member!("network-latency" => NetworkLatency: Descriptor::new(
    "network-latency",
    "Time to connect to endpoints that the configuration names",
)
.tags(&["network", "network-latency"])
.metric(evaluate::LATENCY, "Time to open a TCP connection (milliseconds), by region")
.config_schema(config::SCHEMA));
