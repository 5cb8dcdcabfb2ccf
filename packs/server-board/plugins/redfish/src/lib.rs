//! `server-redfish`: what a management controller says over Redfish of chassis, cooling, power, processors, GPUs, memory,
//! drives, leak detectors and its log entries: GPU baseboards (HGX, MGX) and new servers are asked this way.
//!
//! A guest has no network. `redfish-get`, which the operator installs, asks the one address that its own configuration
//! names, with a credential that this plugin never sees, and only over TLS that is verified or pinned.

pub mod config;
pub mod crawl;
pub mod entries;
pub mod evaluate;
pub mod parts;

use gpud_pack_common::ask::{self, Answer};
use gpud_sdk::findings::{self, Memory};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, state};

use config::{Config, SCHEMA};
use evaluate::SeenEntries;

/// How it ends where nothing is configured.
const NOT_CONFIGURED: i32 = 66;
/// For one call, which reads a group of resources.
const SECONDS: u32 = 30;
const INTERVAL: u64 = 10 * 60;
const SEEN: &str = "seen";

struct ServerRedfish;

impl Checker for ServerRedfish {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let mut absent = None;
        let mut trouble = None;
        let tree = crawl::crawl(|paths| match ask::ask(&config.program, &[paths], SECONDS) {
            Ok(Answer::Missing) => {
                absent = Some("redfish-get is not installed");
                Err(String::new())
            }
            Ok(Answer::Said(said)) if said.code == Some(NOT_CONFIGURED) => {
                absent = Some("redfish-get is not configured");
                Err(String::new())
            }
            // Its status is that of the last resource of a group.
            Ok(Answer::Said(said)) if crawl::is_answer(&said.stdout) => Ok(said.stdout),
            Ok(answer) => Err(answer.output().err().unwrap_or_default()),
            Err(error) => {
                let text = error.text();
                trouble = Some(error);
                Err(text)
            }
        });
        if let Some(reason) = absent {
            return Ok(findings::unsupported(context, reason));
        }
        if let Some(error @ AccessError::Denied(_)) = trouble {
            return Err(error.into());
        }
        let saved = state::get_string(SEEN)?;
        let mut seen = SeenEntries::restore(saved.as_deref());
        let before = Memory::load()?;
        let tree = tree.as_ref().map_err(String::as_str);
        let (report, after) = evaluate::judge(context, &config, tree, &mut seen, &before);
        after.keep(&before)?;
        let text = seen.save();
        if saved.as_ref() != Some(&text) {
            state::set(SEEN, text.as_bytes())?;
        }
        Ok(report)
    }
}

gpud_sdk::export!(ServerRedfish: Descriptor::new(
    "server-redfish",
    "Chassis, cooling, power, processors, GPUs, memory, drives and leak detectors, over Redfish",
)
.interval_seconds(INTERVAL)
.set_healthy_marks()
.metric(evaluate::PARTS, "Parts by kind and health (number)")
.metric(evaluate::READING, "Reading of a sensor by name and unit")
.config_schema(SCHEMA));
