//! The data file against what the checker makes of its examples.

use gpud_sdk::catalog::testing;

use crate::patterns::CATALOG;

#[test]
fn the_data_file_holds() {
    let file = include_str!("../catalog/patterns.json");
    testing::holds(file, &CATALOG, |context, messages| {
        let mut matcher = crate::oom::Matcher::default();
        let event = |message| matcher.event(context, message);
        messages.iter().filter_map(event).collect()
    });
}
