//! The verdict. An idle GPU gives up speed, and some give up lanes, to save power: only busy ones are judged, and only
//! after some checks in a row, since a link may be training.

use std::collections::BTreeMap;

use gpud_builtin_amd_common::check::nothing;
use gpud_builtin_amd_common::round::{UNREADABLE, UNREADABLE_CHECKS};
use gpud_builtin_amd_common::{Card, CardFile, RetainedState, Round};
use gpud_sdk::findings::{Finding, with_data};
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde_json::{Value, json};

use crate::config::Config;
use crate::link::Link;

/// The files, besides those of the links.
pub const FILES: [CardFile; 1] = [CardFile::short("gpu_busy_percent")];
/// Metric of the generation.
pub const GENERATION: &str = "accelerator_amd_pcie_link_generation";
/// Metric of the lanes.
pub const WIDTH: &str = "accelerator_amd_pcie_link_width";
/// Metric of the best generation.
pub const MAX_GENERATION: &str = "accelerator_amd_pcie_link_max_generation";
/// Metric of the most lanes.
pub const MAX_WIDTH: &str = "accelerator_amd_pcie_link_max_width";

const ADVICE: &str = "Reseat the GPU or its riser and look at the slot; a link that trains again at a reboot may \
    come back for a while.";
const DEMAND_ADVICE: &str =
    "Look at the slot and the machine's settings: the link cannot do what is asked of it.";

/// The report, and what to keep. `links` are by PCI id of the GPU.
pub fn evaluate(
    context: &CheckContext,
    config: &Config,
    cards: &[Card],
    links: &BTreeMap<String, Link>,
    before: &RetainedState,
) -> (Report, RetainedState) {
    let with_links: Vec<(&Card, &Link)> = cards
        .iter()
        .filter_map(|card| Some((card, links.get(&card.id)?)))
        .collect();
    let asleep = cards.iter().any(|card| card.asleep);
    if with_links.is_empty()
        && !asleep
        && let Some(nothing) = nothing(context, cards, "no AMD GPU with a PCIe link")
    {
        return nothing;
    }
    let mut round = Round::begin(cards, before);
    for (card, link) in &with_links {
        judge(config, card, link, &mut round);
    }
    let healthy = format!(
        "{} GPU(s) were checked, no PCIe link issue found",
        with_links.len()
    );
    let (report, after) = round.end(context, &healthy);
    let gpus: Vec<Value> = with_links
        .iter()
        .map(|(card, link)| {
            json!({
                "bus_id": card.id,
                "product": card.product,
                "link_of": link.end,
                "generation": link.now.generation,
                "width": link.now.width,
                "max_generation": link.best.generation,
                "max_width": link.best.width,
            })
        })
        .collect();
    let mut report = with_data(report, &json!({ "pcie_links": gpus }));
    for (card, link) in &with_links {
        let labels = [("bus_id", card.id.as_str())];
        for (name, value) in [
            (GENERATION, link.now.generation),
            (WIDTH, link.now.width),
            (MAX_GENERATION, link.best.generation),
            (MAX_WIDTH, link.best.width),
        ] {
            if let Some(value) = value {
                report.add_gauge(name, &labels, value.into());
            }
        }
    }
    (report, after)
}

fn judge(config: &Config, card: &Card, link: &Link, round: &mut Round) {
    if let Some(trouble) = &link.trouble {
        let text = format!(
            "the PCIe link of GPU {} cannot be read: {trouble}",
            card.label()
        );
        let key = format!("{} link unreadable", card.id);
        let finding = Finding::degraded(key, UNREADABLE, text);
        round.add_after(UNREADABLE_CHECKS, finding.subject(card.subject()));
    }
    let busy = card.number::<u64>("gpu_busy_percent");
    let is_busy = busy.is_some_and(|busy| busy >= config.busy_percent);
    let finding = |key: &str, event, what: String, advice| {
        let text = format!("GPU {} PCIe link {what}", card.label());
        Finding::degraded(format!("{} {key}", card.id), event, text)
            .action(RepairAction::HardwareInspection, advice)
            .subject(card.subject())
            .from_file(format!(
                "/sys/bus/pci/devices/{}/current_link_width",
                link.end
            ))
    };
    let lanes = |now: u8, best: u8| format!("has x{now} of x{best} lanes");
    let speed = |now: u8, best: u8| format!("runs at generation {now} of {best}");
    let (now, best) = (link.now, link.best);
    let narrow = ("width", "amd_gpu_pcie_link_narrow", now.width, best.width);
    let slow = (
        "speed",
        "amd_gpu_pcie_link_slow",
        now.generation,
        best.generation,
    );
    for ((key, event, now, best), words) in [
        (narrow, &lanes as &dyn Fn(u8, u8) -> String),
        (slow, &speed),
    ] {
        let (Some(now), Some(best)) = (now, best) else {
            continue;
        };
        if now >= best {
            continue;
        }
        let finding = finding(key, event, words(now, best), ADVICE);
        if is_busy {
            round.add_after(config.checks, finding);
        } else {
            round.keep(config.checks, finding);
        }
    }
    for (key, best, least, unit) in [
        ("wanted width", best.width, config.min_width, "x"),
        (
            "wanted speed",
            best.generation,
            config.min_generation,
            "generation ",
        ),
    ] {
        if let Some(best) = best.filter(|best| u64::from(*best) < least) {
            let what = format!("can do {unit}{best}, expected {unit}{least}");
            round.add(finding(
                key,
                "amd_gpu_pcie_link_below_demand",
                what,
                DEMAND_ADVICE,
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::LinkRate;
    use gpud_builtin_amd_common::testing::{Fixture, actions, context, data, metric, only_state};
    use gpud_sdk::Health;

    const ID: &str = "0000:03:00.0";

    fn ability((generation, width): (u8, u8)) -> LinkRate {
        let known = |value| Some(value).filter(|value| *value > 0);
        LinkRate {
            generation: known(generation),
            width: known(width),
        }
    }

    fn look(
        config: &str,
        busy: &str,
        now: (u8, u8),
        best: (u8, u8),
        before: &RetainedState,
    ) -> (Report, RetainedState) {
        let cards = Fixture::default()
            .gpu(ID, &format!("gpu_busy_percent={busy}"))
            .cards(&FILES);
        let link = Link {
            end: ID.into(),
            now: ability(now),
            best: ability(best),
            trouble: None,
        };
        let links = BTreeMap::from([(ID.to_owned(), link)]);
        let config = Config::parse(config).unwrap();
        evaluate(
            &context("accelerator-amd-pcie-link"),
            &config,
            &cards,
            &links,
            before,
        )
    }

    #[test]
    fn only_busy_gpus_and_only_after_some_checks() {
        let narrow = "GPU 0000:03:00.0 PCIe link has x8 of x16 lanes";
        let slow = "GPU 0000:03:00.0 PCIe link runs at generation 1 of 4";
        let fine = "1 GPU(s) were checked, no PCIe link issue found";
        for (name, steps, health, reason) in [
            ("narrow", vec![("50", (4, 8)); 3], Health::Degraded, narrow),
            (
                "narrow twice",
                vec![("50", (4, 8)); 2],
                Health::Healthy,
                fine,
            ),
            (
                "narrow and idle",
                vec![("0", (4, 8)); 5],
                Health::Healthy,
                fine,
            ),
            (
                "slow and idle",
                vec![("0", (1, 16)); 5],
                Health::Healthy,
                fine,
            ),
            ("slow", vec![("99", (1, 16)); 3], Health::Degraded, slow),
            (
                "idle between",
                vec![
                    ("99", (1, 16)),
                    ("0", (1, 16)),
                    ("99", (1, 16)),
                    ("99", (1, 16)),
                ],
                Health::Degraded,
                slow,
            ),
            (
                "well between",
                vec![
                    ("99", (1, 16)),
                    ("99", (1, 16)),
                    ("99", (4, 16)),
                    ("99", (1, 16)),
                ],
                Health::Healthy,
                fine,
            ),
            ("unknown", vec![("99", (0, 0)); 5], Health::Healthy, fine),
            (
                "busy unknown",
                vec![("x", (1, 1)); 5],
                Health::Healthy,
                fine,
            ),
        ] {
            let mut past = RetainedState::default();
            let mut last = None;
            for (busy, now) in steps {
                let (report, after) = look("{}", busy, now, (4, 16), &past);
                past = after;
                last = Some(report);
            }
            let report = last.unwrap();
            let state = only_state(&report);
            assert_eq!(
                (&state.health, state.reason.as_str()),
                (&health, reason),
                "{name}"
            );
            assert_eq!(
                actions(&report).is_empty(),
                health == Health::Healthy,
                "{name}"
            );
        }
    }

    #[test]
    fn demands() {
        let config = r#"{"min_width":16,"min_generation":5}"#;
        let (report, _) = look(config, "0", (4, 8), (4, 8), &RetainedState::default());
        assert_eq!(
            only_state(&report).reason,
            "GPU 0000:03:00.0 PCIe link can do x8, expected x16; GPU 0000:03:00.0 PCIe link can do \
             generation 4, expected generation 5"
        );
        // An unknown link is not judged.
        let (report, _) = look(config, "0", (4, 8), (0, 0), &RetainedState::default());
        assert_eq!(only_state(&report).health, Health::Healthy);
    }

    #[test]
    fn what_cannot_be_read_is_not_healthy() {
        let cards = Fixture::default()
            .gpu(ID, "gpu_busy_percent=1")
            .cards(&FILES);
        let link = Link {
            trouble: Some("max_link_width: permission denied".into()),
            ..Link::default()
        };
        let links = BTreeMap::from([(ID.to_owned(), link)]);
        let config = Config::parse("{}").unwrap();
        let context = context("accelerator-amd-pcie-link");
        let look = |past: &RetainedState| evaluate(&context, &config, &cards, &links, past);
        let (first, past) = look(&RetainedState::default());
        assert_eq!(only_state(&first).health, Health::Healthy);
        let (second, _) = look(&past);
        assert_eq!(only_state(&second).health, Health::Degraded);
    }

    #[test]
    fn what_is_shown() {
        let (report, _) = look("{}", "0", (1, 16), (4, 16), &RetainedState::default());
        assert_eq!(metric(&report, GENERATION, ID), Some(1.0));
        assert_eq!(metric(&report, MAX_WIDTH, ID), Some(16.0));
        let document: Value = serde_json::from_str(data(&report)).unwrap();
        assert_eq!(document["pcie_links"][0]["max_generation"], 4);
        let config = Config::parse("{}").unwrap();
        let context = context("accelerator-amd-pcie-link");
        let (report, _) = evaluate(
            &context,
            &config,
            &[],
            &BTreeMap::new(),
            &RetainedState::default(),
        );
        assert!(!report.supported);
    }
}
