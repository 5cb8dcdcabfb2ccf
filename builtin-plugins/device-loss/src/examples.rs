//! The data file against what the checker makes of its examples.

use gpud_sdk::catalog::testing;

use crate::patterns::CATALOG;

#[test]
fn the_data_file_holds() {
    let file = include_str!("../catalog/patterns.json");
    testing::holds(file, &CATALOG, |context, messages| {
        let mut repeats = gpud_sdk::incidents::Repeats::default();
        crate::evaluate::events(context, messages, &mut repeats, |_| Vec::new())
    });
}

/// The host's lists hold granted entries only, so what is listed must be granted entry by entry.
#[test]
fn what_is_listed_is_granted() {
    let manifest: serde_json::Value =
        serde_json::from_str(include_str!("../manifest.json")).unwrap();
    let granted = manifest["grants"]["sysfs"].as_array().unwrap();
    for folder in [
        "drivers/nvidia",
        "drivers/mlx5_core",
        "drivers/amdgpu",
        "drivers/nouveau",
        "devices/*/net",
        "devices/*/infiniband",
    ] {
        let entries = format!("/sys/bus/pci/{folder}/*");
        assert!(granted.iter().any(|path| path == &*entries), "{entries}");
    }
}
