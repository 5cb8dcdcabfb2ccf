//! Links of ports that belong to a card.
//!
//! | text | source below `drivers/` |
//! |---|---|
//! | `NIC Link is Down`, `NIC Link is Up …`, of igb behind `igb: ‹interface› ` | `net/ethernet/intel/*`: `ixgbe_watchdog_link_is_down`, `ice_print_link_msg`, `i40e_print_link_message`; `broadcom/bnxt/bnxt.c`, `bnxt_report_link` |
//! | `Link down`, `Link up` | `net/ethernet/mellanox/mlx5/core/en_main.c`, `mlx5e_update_carrier` |
//! | `Link is down`, `Link is up at …` | `net/ethernet/broadcom/tg3.c`, `tg3_link_report` |
//! | `Link is Down`, `Link is Up - …` | `net/phy/phy.c`, `phy_print_status` |
//! | `Port: ‹n› Link DOWN`, `… ACTIVE` | `infiniband/hw/mlx5/main.c`, `mlx5_ib_handle_event` |

use gpud_sdk::kernel_lines::MatchedLine;

use super::LineSource;
use crate::patterns::{NIC_LINK_DOWN, NIC_LINK_UP};

pub(super) fn find<'a>(source: &LineSource<'a>) -> Option<MatchedLine<'a>> {
    // An interface that is removed loses its link, too.
    if source.interface.is_empty() || !source.is_registered {
        return None;
    }
    let text = source.text.trim_end();
    // `igb: enp5s0 NIC Link is Down`.
    let text = text
        .split_once(": ")
        .and_then(|(_, rest)| rest.strip_prefix(source.interface)?.strip_prefix(' '))
        .unwrap_or(text);
    let is_up = match text.strip_prefix("NIC ").unwrap_or(text) {
        "Link down" | "Link is down" | "Link is Down" => false,
        "Link up" => true,
        link if link.starts_with("Link is Up") || link.starts_with("Link is up") => true,
        link => port(link)?,
    };
    // By the interface: a card can have several ports.
    let found = |entry| {
        MatchedLine::new(entry, source.interface)
            .fact("pci_id", source.card)
            .fact("driver", source.driver)
    };
    Some(match is_up {
        true => found(&NIC_LINK_UP).ends(&[&NIC_LINK_DOWN]),
        false => found(&NIC_LINK_DOWN),
    })
}

fn port(text: &str) -> Option<bool> {
    let (number, state) = text.strip_prefix("Port: ")?.split_once(" Link ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    match state {
        "DOWN" if is_number => Some(false),
        "ACTIVE" if is_number => Some(true),
        _ => None,
    }
}
