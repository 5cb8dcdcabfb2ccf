//! The data file against what the checker makes of its examples.

use gpud_sdk::catalog::testing;

use crate::patterns::CATALOG;

#[test]
fn the_data_file_holds() {
    let file = include_str!("../catalog/patterns.json");
    testing::holds(file, &CATALOG, |context, messages| {
        let config = crate::config::Config::default();
        let mut blocked = crate::blocked::Blocked::restore(None, &context.boot_id);
        let mut oops = crate::oops::Oops::restore(None, &context.boot_id);
        crate::evaluate::events(context, &config, messages, &mut blocked, &mut oops)
    });
}
