//! Bonds (`drivers/net/bonding`).
//!
//! | line | source |
//! |---|---|
//! | `‹bond›: (slave ‹interface›): link status definitely down, disabling slave`, before 5.3 `‹bond›: link status definitely down for interface ‹interface›, disabling it` | `bond_main.c`, `bond_miimon_commit` |
//! | the same with `definitely up, …` | same |
//! | `‹bond›: now running without any active interface!` (in old kernels with a blank before `!`) | `bond_main.c`, `bond_select_active_slave` |
//! | `‹bond›: active interface up!`, in old kernels `first active interface up!` | same |
//! | `‹bond›: Warning: No 802.3ad response from the link partner for any adapters in the bond` | `bond_3ad.c`, `ad_agg_selection_logic` |

use gpud_sdk::kernel_lines::MatchedLine;

use super::is_name;
use crate::patterns::{BOND_DOWN, BOND_NO_PARTNER, BOND_SLAVE_DOWN, BOND_SLAVE_UP, BOND_UP};

pub(super) fn find(line: &str) -> Option<MatchedLine<'_>> {
    let (bond, text) = line.split_once(": ")?;
    if !is_name(bond) {
        return None;
    }
    if let Some((interface, is_up)) = slave(text) {
        let device = format!("{bond}/{interface}");
        return Some(match is_up {
            true => MatchedLine::new(&BOND_SLAVE_UP, device).ends(&[&BOND_SLAVE_DOWN]),
            false => MatchedLine::new(&BOND_SLAVE_DOWN, device),
        });
    }
    if text.starts_with("now running without any active interface") {
        return Some(MatchedLine::new(&BOND_DOWN, bond));
    }
    if matches!(
        text.trim_end(),
        "active interface up!" | "first active interface up!"
    ) {
        return Some(MatchedLine::new(&BOND_UP, bond).ends(&[&BOND_DOWN]));
    }
    text.starts_with("Warning: No 802.3ad response from the link partner")
        .then(|| MatchedLine::new(&BOND_NO_PARTNER, bond))
}

/// The interface, and whether it has a link.
fn slave(text: &str) -> Option<(&str, bool)> {
    let (interface, state) = if let Some(rest) = text.strip_prefix("(slave ") {
        let (interface, rest) = rest.split_once("): ")?;
        (interface, rest.strip_prefix("link status definitely ")?)
    } else {
        let rest = text.strip_prefix("link status definitely ")?;
        let (state, rest) = rest.split_once(" for interface ")?;
        (rest.split([',', ' ']).next().unwrap_or(""), state)
    };
    let is_up = match state {
        _ if state.starts_with("up") => true,
        _ if state.starts_with("down") => false,
        _ => return None,
    };
    is_name(interface).then_some((interface, is_up))
}
