//! Components that lie at the boundary itself: lengths, addresses, text, types, and what they take at their start.

use gpud::runtime::Limits;
use serde_json::json;

use crate::{
    forge::{self, Checker, REPORT, report_with_reason, store},
    lab::{self, Wrong},
};

#[tokio::test]
async fn a_forged_checker_that_tells_the_truth_is_believed() {
    let lab = lab::shared().await;
    let wasm = forge::checker(&Checker {
        check: report_with_reason(2048, 4),
        ..Checker::default()
    });
    let plugin = lab
        .load("liar", &wasm, &json!({}), lab::limits())
        .await
        .unwrap();
    assert_eq!(lab::reason(&lab::check(&plugin, "liar").await), Ok("liar"));
}

#[tokio::test]
async fn false_values_in_an_answer_are_named() {
    let lab = lab::shared().await;
    let bad_utf8 = [store(2048, 0xffff_ffff), report_with_reason(2048, 4)].concat();
    let half_a_letter = [store(2048, 0xc3), report_with_reason(2048, 1)].concat();
    let cases = [
        (
            "a string beyond the memory",
            report_with_reason(65_530, 100),
            "trapped: string pointer/length out of bounds of memory",
        ),
        (
            "a string around the end of the address space",
            report_with_reason(0xffff_fff0, 100),
            "trapped: string pointer/length out of bounds of memory",
        ),
        (
            "a string of 4 GiB",
            report_with_reason(0, 0xffff_ffff),
            "trapped: string pointer/length out of bounds of memory",
        ),
        (
            "bytes that are no UTF-8",
            bad_utf8,
            "trapped: invalid utf-8 sequence of 1 bytes from index 0",
        ),
        (
            "half a letter",
            half_a_letter,
            "trapped: incomplete utf-8 byte sequence from index 0",
        ),
        (
            "a report beyond the memory",
            "(return (i32.const 65528))".to_owned(),
            "trapped: pointer out of bounds of memory",
        ),
        (
            "a report at an odd address",
            "(return (i32.const 4097))".to_owned(),
            "trapped: return pointer not aligned",
        ),
        (
            "neither ok nor error",
            store(REPORT, 7),
            "trapped: invalid expected discriminant",
        ),
        (
            "more states than fit into memory",
            [report_with_reason(0, 0), store(REPORT + 16, 0x0fff_ffff)].concat(),
            "trapped: list pointer/length out of bounds of memory",
        ),
        (
            "a health beyond the last",
            [report_with_reason(0, 0), store(REPORT + 256 + 32, 9)].concat(),
            "trapped: unexpected discriminant: 9",
        ),
    ];
    let mut wrong = Wrong::default();
    for (lie, check, expected) in cases {
        let wasm = forge::checker(&Checker {
            check,
            ..Checker::default()
        });
        let plugin = lab
            .load("liar", &wasm, &json!({}), lab::limits())
            .await
            .unwrap();
        let finished = lab.beside_neighbour(lab::check(&plugin, "liar")).await;
        wrong.note(lie, &finished.answer.unwrap_err().to_string(), expected);
    }
    wrong.assert_none();
}

#[tokio::test]
async fn lies_about_where_to_put_an_argument_are_named() {
    let lab = lab::shared().await;
    let truth = report_with_reason(2048, 4);
    let mut wrong = Wrong::default();
    for (realloc, limits, expected) in [
        (
            "(i32.const 65535)",
            lab::limits(),
            "trapped: realloc return: beyond end of memory",
        ),
        (
            "(i32.const -1)",
            lab::limits(),
            "trapped: realloc return: beyond end of memory",
        ),
        (
            "unreachable",
            lab::limits(),
            "trapped: unreachable code reached (a panic; its message is in the log)",
        ),
        (
            "(loop (br 0)) unreachable",
            lab::short(),
            "did not finish within 300 ms",
        ),
    ] {
        let wasm = forge::checker(&Checker {
            check: truth.clone(),
            realloc,
            ..Checker::default()
        });
        let plugin = lab.load("liar", &wasm, &json!({}), limits).await.unwrap();
        let finished = lab.beside_neighbour(lab::check(&plugin, "liar")).await;
        wrong.note(realloc, &finished.answer.unwrap_err().to_string(), expected);
    }
    wrong.assert_none();
}

#[tokio::test]
async fn lies_to_a_capability_are_named() {
    let lab = lab::shared().await;
    let items = r#"(import "gpud:plugin/log@0.1.0" "write" (func $write (param i32 i32 i32)))"#;
    let mut wrong = Wrong::default();
    for (call, expected) in [
        (
            "(call $write (i32.const 1) (i32.const 2097147) (i32.const 100))",
            "trapped: string pointer/length out of bounds of memory",
        ),
        (
            "(call $write (i32.const 9) (i32.const 2048) (i32.const 4))",
            "trapped: unexpected discriminant: 9",
        ),
        (
            "(call $write (i32.const 1) (i32.const 0) (i32.const 2000000))",
            "trapped: too much data is being copied between the host and the guest: fuel allocated for hostcalls has been exhausted",
        ),
    ] {
        let check = [call, &report_with_reason(2048, 4)].concat();
        let wasm = forge::checker(&Checker {
            items,
            check,
            pages: 32,
            ..Checker::default()
        });
        let plugin = lab
            .load("liar", &wasm, &json!({}), lab::limits())
            .await
            .unwrap();
        let finished = lab.beside_neighbour(lab::check(&plugin, "liar")).await;
        let answer = finished
            .answer
            .map_or_else(|error| error.to_string(), |_| "believed".to_owned());
        wrong.note(call, &answer, expected);
    }
    wrong.assert_none();
}

#[tokio::test]
async fn what_is_taken_before_the_first_call_counts() {
    let lab = lab::shared().await;
    let start = "(func $start (loop (br 0))) (start $start)";
    let tables = "(table 50000 funcref) (table 50001 funcref)";
    let parts = Checker::default;
    let mut wrong = Wrong::default();
    for (what, parts, limits, expected) in [
        (
            "memory",
            Checker {
                pages: 129,
                ..parts()
            },
            lab::limits(),
            "greedy: failed to describe itself: wanted 8454144 bytes of memory, more than its limit",
        ),
        (
            "two tables in a module",
            Checker {
                items: tables,
                ..parts()
            },
            lab::limits(),
            "greedy: module table does not fit in pooling allocator requirements: defined tables count of 2 exceeds the per-instance limit of 1",
        ),
        (
            "time",
            Checker {
                items: start,
                ..parts()
            },
            lab::short(),
            "greedy: failed to describe itself: did not finish within 300 ms",
        ),
        (
            "a trap at the start",
            Checker {
                items: "(func $start unreachable) (start $start)",
                ..parts()
            },
            lab::limits(),
            "greedy: failed to describe itself: trapped: unreachable code reached (a panic; its message is in the log)",
        ),
        (
            "a memory beyond the pool",
            Checker {
                pages: 20_000,
                ..parts()
            },
            lab::limits(),
            "greedy: module memory does not fit in pooling allocator requirements: memory index 0 is unsupported in this pooling allocator configuration: memory has a minimum byte size of 1310720000 which exceeds the limit of 0x40000000 bytes",
        ),
        (
            "a table beyond the pool",
            Checker {
                items: "(table 1000000 funcref)",
                ..parts()
            },
            Limits {
                table_elements: 10_000_000,
                ..lab::limits()
            },
            "greedy: module table does not fit in pooling allocator requirements: table index 0 has a minimum element size of 1000000 which exceeds the limit of 100000",
        ),
    ] {
        let wasm = forge::checker(&parts);
        let refusal = lab.refusal("greedy", &wasm, &json!({}), limits).await;
        wrong.note(what, &refusal, expected);
    }
    wrong.assert_none();
}

#[tokio::test]
async fn growing_tables_are_stopped_and_a_guest_that_can_do_without_goes_on() {
    let lab = lab::shared().await;
    let items = "(table $t 1 funcref)";
    let until_refused = "(loop
        (br_if 0 (i32.ge_s (table.grow $t (ref.null func) (i32.const 1000)) (i32.const 0))))";
    let modest = [until_refused, &report_with_reason(2048, 4)].concat();
    let wasm = forge::checker(&Checker {
        items,
        check: modest,
        ..Checker::default()
    });
    let plugin = lab
        .load("hoarder", &wasm, &json!({}), lab::limits())
        .await
        .unwrap();
    let finished = lab.beside_neighbour(lab::check(&plugin, "liar")).await;
    assert_eq!(lab::reason(&finished), Ok("liar"));

    let lost = [until_refused, "unreachable"].concat();
    let wasm = forge::checker(&Checker {
        items,
        check: lost,
        ..Checker::default()
    });
    let plugin = lab
        .load("hoarder", &wasm, &json!({}), lab::limits())
        .await
        .unwrap();
    let finished = lab.beside_neighbour(lab::check(&plugin, "liar")).await;
    assert_eq!(
        finished.answer.unwrap_err().to_string(),
        "wanted 100001 table elements, more than its limit"
    );
}

#[tokio::test]
async fn what_the_host_does_not_have_is_refused_by_name() {
    let lab = lab::shared().await;
    let calls = |import: &str| format!("(module (import {import} (func)))");
    let checker = |import: &str| {
        let items = format!("(import {import})");
        forge::checker_module(&Checker {
            items: &items,
            ..Checker::default()
        })
    };
    let offered = "imports what this gpud does not offer:";
    let speaks = "gpud:plugin@0.1.0";
    let mut wrong = Wrong::default();
    for (wit, module, expected) in [
        (
            "package other:pkg; interface x { f: func(); } world w { import x; }".to_owned(),
            calls(r#""other:pkg/x" "f""#),
            format!("{offered} other:pkg/x (it speaks {speaks})"),
        ),
        (
            "package gpud:plugin@0.1.0; interface disk { f: func(); } world w { import disk; }".to_owned(),
            calls(r#""gpud:plugin/disk@0.1.0" "f""#),
            format!("{offered} gpud:plugin/disk@0.1.0 (it speaks {speaks})"),
        ),
        (
            "package a:b; world w { import launch: func(); }".to_owned(),
            calls(r#""$root" "launch""#),
            format!("{offered} launch (it speaks {speaks})"),
        ),
        (
            forge::contract_with(
                "package wasi:nuclear@0.2.0 { interface launch { f: func(); } }
                world w { import wasi:nuclear/launch@0.2.0; export checker; }",
            ),
            checker(r#""wasi:nuclear/launch@0.2.0" "f" (func)"#),
            "its imports do not fit: component imports instance `wasi:nuclear/launch@0.2.0`, but a matching implementation was not found in the linker: instance export `f` has the wrong type: function implementation is missing (this gpud speaks gpud:plugin@0.1.0)".to_owned(),
        ),
        (
            forge::contract_with(
                "interface log { write: func(text: string) -> u32; }
                world w { import log; export checker; }",
            ),
            checker(r#""gpud:plugin/log@0.1.0" "write" (func (param i32 i32) (result i32))"#),
            "its imports do not fit: component imports instance `gpud:plugin/log@0.1.0`, but a matching implementation was not found in the linker: instance export `write` has the wrong type: type mismatch with parameters: expected 2-tuple, found 1-tuple (this gpud speaks gpud:plugin@0.1.0)".to_owned(),
        ),
        (
            "package a:b; world w { }".to_owned(),
            "(module)".to_owned(),
            format!("it does not export `gpud:plugin/checker` (this gpud speaks {speaks})"),
        ),
        (
            "package gpud:plugin@0.1.0; interface checker { describe: func() -> u32; check: func() -> u32; }
            world w { export checker; }"
                .to_owned(),
            r#"(module
                (func (export "gpud:plugin/checker@0.1.0#describe") (result i32) (i32.const 1))
                (func (export "gpud:plugin/checker@0.1.0#check") (result i32) (i32.const 1)))"#
                .to_owned(),
            "it was built against another form of the contract: failed to convert function to given type: type mismatch with results: expected `record` found `u32` (this gpud speaks gpud:plugin@0.1.0)".to_owned(),
        ),
    ] {
        let wasm = forge::component(&wit, &module);
        let refusal = lab.refusal("stranger", &wasm, &lab::grants(), lab::limits()).await;
        wrong.note(&wit[wit.len().saturating_sub(100)..], &refusal, &format!("stranger: {expected}"));
    }
    wrong.assert_none();
}
