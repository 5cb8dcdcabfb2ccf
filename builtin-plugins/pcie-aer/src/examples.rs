//! The data file against what the checker makes of its examples.

use gpud_sdk::catalog::testing;

use crate::patterns::CATALOG;

#[test]
fn the_data_file_holds() {
    let file = include_str!("../catalog/patterns.json");
    testing::holds(file, &CATALOG, |context, messages| {
        crate::row::events(context, messages, crate::device::Device::unknown)
    });
}
