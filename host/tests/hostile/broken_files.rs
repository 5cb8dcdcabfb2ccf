//! Files that are no components, or not quite: refused by name, with what to do.

use gpud::runtime::LoadError;
use serde_json::json;

use crate::lab;

/// A small generator of numbers, so that the same damage is done every time.
fn numbers(mut seed: u64) -> impl Iterator<Item = usize> {
    std::iter::repeat_with(move || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap()
    })
}

#[tokio::test]
async fn what_is_no_component_is_refused_with_what_it_is() {
    let lab = lab::shared().await;
    let random: Vec<u8> = numbers(1).take(4096).map(|n| (n % 255) as u8 + 1).collect();
    let not_wasm = "not a WebAssembly component: it does not begin like WebAssembly";
    let core = wat::parse_str("(module (memory 1))").unwrap();
    for (wasm, problem) in [
        (&b""[..], not_wasm),
        (b"\0", not_wasm),
        (b"(component)", not_wasm),
        (b"#!/bin/sh\nrm -rf /\n", not_wasm),
        (&random, not_wasm),
        (
            &core,
            "not a WebAssembly component: it is a core module; make a component of it with `wasm-tools component new`",
        ),
        (
            b"\0asm\x09\0\0\0",
            "not a WebAssembly component: its WebAssembly version is not known",
        ),
    ] {
        let refusal = lab.refusal("broken", wasm, &json!({}), lab::limits()).await;
        assert_eq!(refusal, format!("broken: {problem}"));
    }
}

#[tokio::test]
async fn a_component_cut_short_is_refused_wherever_it_is_cut() {
    let lab = lab::shared().await;
    let whole = lab::guest("well_behaved");
    let cuts = [8, 9, 64, whole.len() / 2, whole.len() - 1];
    for cut in cuts
        .into_iter()
        .chain(numbers(2).map(|n| 8 + n % (whole.len() - 8)).take(20))
    {
        let short = &whole[..cut];
        let error = match lab.load("cut", short, &lab::grants(), lab::limits()).await {
            Ok(_) => panic!("loaded with {cut} of {} bytes", whole.len()),
            Err(error) => error,
        };
        assert!(error.to_string().starts_with("cut: "), "{error}");
        // A cut between two sections leaves a component that lacks its end.
        assert!(
            matches!(
                error,
                LoadError::Compile { .. } | LoadError::Contract { .. }
            ),
            "{error}"
        );
    }
}

#[tokio::test]
async fn flipped_bits_are_refused_or_contained() {
    let lab = lab::shared().await;
    let whole = lab::guest("well_behaved");
    let mut refused = 0;
    for place in numbers(3).map(|n| n % whole.len()).take(60) {
        let mut damaged = whole.to_vec();
        damaged[place] ^= 0x10;
        let grants = lab::grants();
        let loading = lab.load("damaged", &damaged, &grants, lab::short());
        match lab.beside_neighbour(loading).await {
            Ok(plugin) => {
                // Whatever it says, it says it in time and within bounds.
                let _ = lab
                    .beside_neighbour(lab::check(&plugin, "well-behaved"))
                    .await;
            }
            Err(error) => {
                assert!(error.to_string().starts_with("damaged: "), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "no damage was noticed");
}

/// The same bytes with the contract's version changed for one interface.
fn other_version(wasm: &[u8], interface: &str) -> Vec<u8> {
    let (from, to) = (format!("{interface}@0.1.0"), format!("{interface}@0.2.0"));
    let mut bytes = wasm.to_vec();
    let mut changed = 0;
    for start in 0..bytes.len().saturating_sub(from.len()) {
        let place = start..start + from.len();
        if &bytes[place.clone()] == from.as_bytes() {
            bytes[place].copy_from_slice(to.as_bytes());
            changed += 1;
        }
    }
    assert!(changed > 0, "{interface} is not in the component");
    bytes
}

#[tokio::test]
async fn another_contract_version_is_refused_by_name() {
    let lab = lab::shared().await;
    let exports = other_version(lab::guest("well_behaved"), "gpud:plugin/checker");
    let refusal = lab
        .refusal("newer", &exports, &json!({}), lab::limits())
        .await;
    assert_eq!(
        refusal,
        "newer: it exports gpud:plugin/checker@0.2.0, another version of the contract (this gpud speaks gpud:plugin@0.1.0)"
    );
    let imports = other_version(lab::guest("imports_exec"), "gpud:plugin/sysfs");
    let refusal = lab
        .refusal("newer", &imports, &lab::grants(), lab::limits())
        .await;
    assert_eq!(
        refusal,
        "newer: imports what this gpud does not offer: gpud:plugin/sysfs@0.2.0 (it speaks gpud:plugin@0.1.0)"
    );
}
