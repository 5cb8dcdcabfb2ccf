//! Components of every shape, and what becomes of them. That the result does the same is tried by hand, in a runtime:
//! each case exports a `run` that gives a number.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wasmparser::{
    ComponentName, ElementKind, ExternalKind, KnownCustom, Name, Operator, Parser, Payload,
    Validator,
};

use super::*;

macro_rules! case {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../tests/cases/", $name, ".wat")),
        )
    };
}

/// What is left of the instances, by reasons in order.
const MERGED: &[((&str, &str), usize, &[Reason])] = &[
    (case!("shared-memory"), 4, &[]),
    (case!("aliases"), 4, &[]),
    (case!("tables"), 4, &[]),
    (case!("references"), 4, &[]),
    (case!("starts"), 4, &[]),
    (
        case!("shim"),
        4,
        &[Reason::SecondTable, Reason::NeedsWhatNeedsTheGroup],
    ),
    (case!("cycle"), 3, &[Reason::Before]),
    (case!("resource"), 3, &[Reason::Before]),
    (case!("start-then-data"), 3, &[Reason::Order]),
    (
        case!("late"),
        2,
        &[Reason::AfterUse, Reason::NeedsWhatNeedsTheGroup],
    ),
    (case!("two-memories"), 4, &[Reason::SecondMemory]),
];

const UNCHANGED: &[((&str, &str), Unchanged)] = &[
    (case!("flat"), Unchanged::FewInstances),
    (case!("chain"), Unchanged::NoGroup),
];

const REFUSED: &[((&str, &str), &str)] = &[
    (
        case!("twice"),
        "core module 0 is instantiated twice, as core instances 0 and 2",
    ),
    (
        case!("shared-module"),
        "core modules must belong to the component alone, but a nested component uses core module 0 of an outer one",
    ),
];

fn binary(wat: &str) -> Vec<u8> {
    wat::parse_str(wat).unwrap()
}

fn flattened(bytes: &[u8]) -> Flattened {
    match flatten(bytes).unwrap() {
        Outcome::Flattened(flattened) => flattened,
        Outcome::Unchanged(why) => panic!("unchanged: {why}"),
    }
}

/// What a component shows of itself, and its core modules.
fn look(bytes: &[u8]) -> (Vec<String>, Vec<Vec<u8>>) {
    let (mut outside, mut modules, mut depth) = (Vec::new(), Vec::new(), 0);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.unwrap() {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ModuleSection {
                unchecked_range, ..
            } if depth == 1 => {
                let range = unchecked_range.start as usize..unchecked_range.end as usize;
                modules.push(bytes[range].to_vec());
            }
            Payload::ComponentImportSection(section) if depth == 1 => {
                outside.extend(
                    section
                        .into_iter()
                        .map(|import| format!("{:?}", import.unwrap().name)),
                );
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                outside.extend(
                    section
                        .into_iter()
                        .map(|export| format!("{:?}", export.unwrap())),
                );
            }
            _ => {}
        }
    }
    (outside, modules)
}

/// The merged module of a result, and its function names.
fn merged(component: &[u8]) -> (Vec<u8>, BTreeMap<u32, String>) {
    for module in look(component).1 {
        for payload in Parser::new(0).parse_all(&module) {
            let Payload::CustomSection(section) = payload.unwrap() else {
                continue;
            };
            let KnownCustom::Name(names) = section.as_known() else {
                continue;
            };
            let (mut merged, mut funcs) = (false, BTreeMap::new());
            for name in names {
                match name.unwrap() {
                    Name::Module { name, .. } => merged = name == "flattened",
                    Name::Function(map) => {
                        funcs.extend(
                            map.into_iter()
                                .map(Result::unwrap)
                                .map(|it| (it.index, it.name.to_owned())),
                        );
                    }
                    _ => {}
                }
            }
            if merged {
                return (module.clone(), funcs);
            }
        }
    }
    panic!("no merged module");
}

/// The operators of each function body.
fn code(module: &[u8]) -> Vec<Vec<Operator<'_>>> {
    let payloads = Parser::new(0).parse_all(module).map(Result::unwrap);
    let bodies = payloads.filter_map(|payload| match payload {
        Payload::CodeSectionEntry(body) => Some(body),
        _ => None,
    });
    bodies
        .map(|body| {
            body.get_operators_reader()
                .unwrap()
                .into_iter()
                .map(Result::unwrap)
                .collect()
        })
        .collect()
}

#[test]
fn merges_what_it_can() {
    for ((name, wat), count, reasons) in MERGED {
        let input = binary(wat);
        let result = flattened(&input);
        assert_eq!(result.merged, *count, "{name}");
        let left_out: Vec<Reason> = result.left_out.iter().map(|left| left.reason).collect();
        assert_eq!(left_out, *reasons, "{name}");

        let (outside, modules) = look(&result.component);
        assert_eq!(outside, look(&input).0, "{name}");
        assert_eq!(modules.len(), 1 + reasons.len(), "{name}");
        Validator::new().validate_all(&result.component).unwrap();
        assert_eq!(
            flattened(&input).component,
            result.component,
            "{name}: the same again"
        );
        assert!(
            matches!(flatten(&result.component).unwrap(), Outcome::Unchanged(_)),
            "{name}: nothing more to merge"
        );
    }
}

#[test]
fn merges_within_nested_components() {
    let inner = MERGED[0].0.1;
    let (_, body) = inner.split_once("(component").unwrap();
    let alone = flattened(&binary(inner));
    let nested = binary(&format!(
        r#"(component
            (component $other)
            (component $inner {body}
            (instance $made (instantiate $inner))
            (instance (instantiate $other))
            (export "made" (instance $made)))"#
    ));
    let result = flattened(&nested);
    assert_eq!(result.merged, alone.merged);
    assert!(result.component.len() < nested.len() + 64);
    let within = |bytes: &[u8]| {
        let parts = Parser::new(0).parse_all(bytes).map(Result::unwrap);
        let modules = parts.filter(|part| matches!(part, Payload::ModuleSection { .. }));
        modules.count()
    };
    assert_eq!(within(&result.component), within(&alone.component));
    assert!(within(&nested) > within(&result.component));
    assert!(matches!(
        flatten(&result.component).unwrap(),
        Outcome::Unchanged(_)
    ));
    // One that cannot be flattened keeps the others from nothing.
    let (_, twice) = REFUSED[0].0.1.split_once("(component").unwrap();
    let both = format!("(component (component {twice} (component {body})");
    assert_eq!(flattened(&binary(&both)).merged, alone.merged);
}

#[test]
fn keeps_custom_sections_and_names_of_the_component() {
    let result = flattened(&binary(case!("late").1));
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(&result.component) {
        let Payload::CustomSection(section) = payload.unwrap() else {
            continue;
        };
        match section.as_known() {
            KnownCustom::ComponentName(names) => {
                found.extend(names.into_iter().map(|name| match name.unwrap() {
                    ComponentName::Component { name, .. } => name.to_owned(),
                    ComponentName::Funcs(names) => format!("{} function", names.count()),
                    _ => "something else".to_owned(),
                }));
            }
            _ if section.name() == "note" => found.push("note".to_owned()),
            _ => {}
        }
    }
    found.sort();
    assert_eq!(found, ["1 function", "late", "note"]);
}

#[test]
fn leaves_alone_what_cannot_be_merged() {
    for ((name, wat), why) in UNCHANGED {
        let outcome = flatten(&binary(wat)).unwrap();
        assert!(
            matches!(outcome, Outcome::Unchanged(found) if found == *why),
            "{name}: {outcome:?}"
        );
    }
}

#[test]
fn refuses_what_it_does_not_understand() {
    for ((name, wat), message) in REFUSED {
        assert_eq!(
            flatten(&binary(wat)).unwrap_err().to_string(),
            *message,
            "{name}"
        );
    }
    assert!(matches!(
        flatten(&binary("(module)")),
        Err(Error::NotAComponent)
    ));
    assert!(matches!(flatten(b""), Err(Error::Invalid(_))));
    assert!(matches!(
        flatten(b"garbage of some length"),
        Err(Error::Invalid(_))
    ));
}

#[test]
fn keeps_names_and_drops_what_nothing_calls() {
    let (module, names) = merged(&flattened(&binary(case!("shared-memory").1)).component);
    // `$load` is in the text's names, `load` is its export, which the text's names do not have.
    assert_eq!(names.values().collect::<Vec<_>>(), ["load", "sum"]);
    assert_eq!(code(&module).len(), 2);

    let result = flattened(&binary(case!("aliases").1));
    assert_eq!(
        (result.imports, result.exports, result.dropped_funcs),
        (0, 2, 1)
    );
}

#[test]
fn known_globals_become_constants() {
    let (module, _) = merged(&flattened(&binary(case!("tables").1)).component);
    let mut offsets = Vec::new();
    for payload in Parser::new(0).parse_all(&module) {
        match payload.unwrap() {
            Payload::ElementSection(section) => {
                for element in section {
                    let ElementKind::Active { offset_expr, .. } = element.unwrap().kind else {
                        continue;
                    };
                    offsets.push(value::evaluate(&offset_expr, |_| None));
                }
            }
            // Only the counter is ever written; the others, mutable or not, are gone.
            Payload::GlobalSection(section) => assert_eq!(section.count(), 1),
            _ => {}
        }
    }
    assert_eq!(
        offsets,
        [Some(value::Value::I32(2)), Some(value::Value::I32(4))]
    );
    let gets = code(&module)
        .into_iter()
        .flatten()
        .filter(|it| matches!(it, Operator::GlobalGet { .. }))
        .count();
    assert_eq!(gets, 2);
}

#[test]
fn start_functions_keep_their_order() {
    let (module, names) = merged(&flattened(&binary(case!("starts").1)).component);
    let all = code(&module).pop().unwrap();
    let calls: Vec<u32> = all
        .iter()
        .filter_map(|operator| match operator {
            Operator::Call { function_index } => Some(*function_index),
            _ => None,
        })
        .collect();
    assert_eq!(calls, [0, 1, 2]);
    let payloads = Parser::new(0).parse_all(&module).map(Result::unwrap);
    let starts: Vec<u32> = payloads
        .filter_map(|payload| match payload {
            Payload::StartSection { func, .. } => Some(func),
            _ => None,
        })
        .collect();
    assert_eq!(starts, [4]);
    assert!(!names.contains_key(&4));
}

#[test]
fn shim_and_fixup_stay() {
    let (_, modules) = look(&flattened(&binary(case!("shim").1)).component);
    let exports: Vec<Vec<(String, ExternalKind)>> = modules
        .iter()
        .map(|bytes| {
            let module = module::Module::parse(bytes).unwrap();
            module
                .exports
                .iter()
                .map(|export| (export.name.to_owned(), export.kind))
                .collect()
        })
        .collect();
    let merged = [
        ("memory", ExternalKind::Memory),
        ("realloc", ExternalKind::Func),
        ("run", ExternalKind::Func),
    ];
    let mut found = exports[2].clone();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(found, merged.map(|(name, kind)| (name.to_owned(), kind)));
    assert_eq!(exports[1], []);
}

#[test]
fn truncated_components_are_no_components() {
    let input = binary(case!("shim").1);
    for length in 0..input.len() {
        match flatten(&input[..length]) {
            // A component may end after any section.
            Err(_) | Ok(Outcome::Unchanged(_)) => {}
            Ok(Outcome::Flattened(flattened)) => {
                Validator::new().validate_all(&flattened.component).unwrap();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn never_panics(
        case in 0..MERGED.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = binary(MERGED[case].0.1);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        // An error of the validator over what was written would be a fault here, not of the input.
        let result = flatten(&bytes);
        prop_assert!(!matches!(result, Err(Error::Output(_) | Error::Missing { .. } | Error::Encode(_))), "{result:?}");
    }
}
