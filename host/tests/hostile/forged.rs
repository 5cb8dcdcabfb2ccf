//! Components that lie at the boundary itself: lengths, addresses, text, types, and what they take at their start.

use gpud::runtime::Limits;
use serde_json::json;

use crate::{
    forge::{self, Checker, REPORT, report_with_reason, store},
    lab,
};

#[tokio::test]
async fn a_forged_checker_that_tells_the_truth_is_believed() {
    let lab = lab::shared().await;
    let wasm = forge::checker(&Checker { check: report_with_reason(2048, 4), ..Checker::default() });
    let plugin = lab.load("liar", &wasm, &json!({}), lab::limits()).await.unwrap();
    assert_eq!(lab::reason(&lab::check(&plugin, "liar").await), Ok("liar"));
}

#[tokio::test]
async fn lies_in_an_answer_are_named() {
    let lab = lab::shared().await;
    let bad_utf8 = [store(2048, 0xffff_ffff), report_with_reason(2048, 4)].concat();
    let half_a_letter = [store(2048, 0xc3), report_with_reason(2048, 1)].concat();
    let cases = [
        ("a string beyond the memory", report_with_reason(65_530, 100), "TODO"),
        ("a string around the end of the address space", report_with_reason(0xffff_fff0, 100), "TODO"),
        ("a string of 4 GiB", report_with_reason(0, 0xffff_ffff), "TODO"),
        ("bytes that are no UTF-8", bad_utf8, "TODO"),
        ("half a letter", half_a_letter, "TODO"),
        ("a report beyond the memory", "(return (i32.const 65532))".to_owned(), "TODO"),
        ("a report at an odd address", "(return (i32.const 4097))".to_owned(), "TODO"),
        ("neither ok nor error", store(REPORT, 7), "TODO"),
        (
            "more states than fit into memory",
            [report_with_reason(0, 0), store(REPORT + 16, 0x0fff_ffff)].concat(),
            "TODO",
        ),
        (
            "a health beyond the last",
            [report_with_reason(0, 0), store(REPORT + 256 + 32, 9)].concat(),
            "TODO",
        ),
    ];
    for (lie, check, expected) in cases {
        let wasm = forge::checker(&Checker { check, ..Checker::default() });
        let plugin = lab.load("liar", &wasm, &json!({}), lab::limits()).await.unwrap();
        let finished = lab.beside_neighbour(lab::check(&plugin, "liar")).await;
        assert_eq!(finished.answer.unwrap_err().to_string(), expected, "{lie}");
    }
}

#[tokio::test]
async fn lies_about_where_to_put_an_argument_are_named() {
    let lab = lab::shared().await;
    let truth = report_with_reason(2048, 4);
    for (realloc, limits, expected) in [
        ("(i32.const 65535)", lab::limits(), "TODO"),
        ("(i32.const -1)", lab::limits(), "TODO"),
        ("unreachable", lab::limits(), "trapped: unreachable code reached (a panic; its message is in the log)"),
        ("(loop (br 0)) unreachable", lab::short(), "did not finish within 300 ms"),
    ] {
        let wasm = forge::checker(&Checker { check: truth.clone(), realloc, ..Checker::default() });
        let plugin = lab.load("liar", &wasm, &json!({}), limits).await.unwrap();
        let finished = lab.beside_neighbour(lab::check(&plugin, "liar")).await;
        assert_eq!(finished.answer.unwrap_err().to_string(), expected, "{realloc}");
    }
}

#[tokio::test]
async fn lies_to_a_capability_are_named() {
    let lab = lab::shared().await;
    let items = r#"(import "gpud:plugin/log@0.1.0" "write" (func $write (param i32 i32 i32)))"#;
    for (call, expected) in [
        ("(call $write (i32.const 1) (i32.const 65530) (i32.const 100))", "TODO"),
        ("(call $write (i32.const 9) (i32.const 2048) (i32.const 4))", "TODO"),
        ("(call $write (i32.const 1) (i32.const 0) (i32.const 2000000))", "TODO"),
    ] {
        let check = [call, &report_with_reason(2048, 4)].concat();
        let wasm = forge::checker(&Checker { items, check, pages: 32, ..Checker::default() });
        let plugin = lab.load("liar", &wasm, &json!({}), lab::limits()).await.unwrap();
        let finished = lab.beside_neighbour(lab::check(&plugin, "liar")).await;
        assert_eq!(finished.answer.unwrap_err().to_string(), expected, "{call}");
    }
}

#[tokio::test]
async fn what_is_taken_before_the_first_call_counts() {
    let lab = lab::shared().await;
    let start = "(func $start (loop (br 0))) (start $start)";
    let tables = "(table 50000 funcref) (table 50001 funcref)";
    let parts = Checker::default;
    for (what, parts, limits, expected) in [
        (
            "memory",
            Checker { pages: 129, ..parts() },
            lab::limits(),
            "TODO",
        ),
        ("tables", Checker { items: tables, ..parts() }, lab::limits(), "TODO"),
        (
            "time",
            Checker { items: start, ..parts() },
            lab::short(),
            "greedy: failed to describe itself: did not finish within 300 ms",
        ),
        (
            "a trap at the start",
            Checker { items: "(func $start unreachable) (start $start)", ..parts() },
            lab::limits(),
            "TODO",
        ),
        ("a memory beyond the pool", Checker { pages: 20_000, ..parts() }, lab::limits(), "TODO"),
        (
            "a table beyond the pool",
            Checker { items: "(table 1000000 funcref)", ..parts() },
            Limits { table_elements: 10_000_000, ..lab::limits() },
            "TODO",
        ),
    ] {
        let wasm = forge::checker(&parts);
        let refusal = lab.refusal("greedy", &wasm, &json!({}), limits).await;
        assert_eq!(refusal, expected, "{what}");
    }
}

#[tokio::test]
async fn growing_tables_are_stopped_and_a_guest_that_can_do_without_goes_on() {
    let lab = lab::shared().await;
    let items = "(table $t 1 funcref)";
    let until_refused = "(loop
        (br_if 0 (i32.ge_s (table.grow $t (ref.null func) (i32.const 1000)) (i32.const 0))))";
    let modest = [until_refused, &report_with_reason(2048, 4)].concat();
    let wasm = forge::checker(&Checker { items, check: modest, ..Checker::default() });
    let plugin = lab.load("hoarder", &wasm, &json!({}), lab::limits()).await.unwrap();
    let finished = lab.beside_neighbour(lab::check(&plugin, "liar")).await;
    assert_eq!(lab::reason(&finished), Ok("liar"));

    let lost = [until_refused, "unreachable"].concat();
    let wasm = forge::checker(&Checker { items, check: lost, ..Checker::default() });
    let plugin = lab.load("hoarder", &wasm, &json!({}), lab::limits()).await.unwrap();
    let finished = lab.beside_neighbour(lab::check(&plugin, "liar")).await;
    assert_eq!(
        finished.answer.unwrap_err().to_string(),
        "wanted 100001 table elements, more than its limit"
    );
}

#[tokio::test]
async fn what_the_host_does_not_have_is_refused_by_name() {
    let lab = lab::shared().await;
    let honest = |import: &str, name: &str| {
        let import = format!("(module (import \"{import}\" \"{name}\" (func)))");
        import
    };
    for (wit, module, expected) in [
        (
            "package other:pkg; interface x { f: func(); } world w { import x; }",
            honest("other:pkg/x", "f"),
            "stranger: imports what this gpud does not offer: other:pkg/x (it speaks gpud:plugin@0.1.0)",
        ),
        (
            "package gpud:plugin@0.1.0; interface disk { f: func(); } world w { import disk; }",
            honest("gpud:plugin/disk@0.1.0", "f"),
            "stranger: imports what this gpud does not offer: gpud:plugin/disk@0.1.0 (it speaks gpud:plugin@0.1.0)",
        ),
        (
            "package a:b; world w { import launch: func(); }",
            honest("$root", "launch"),
            "stranger: imports what this gpud does not offer: launch (it speaks gpud:plugin@0.1.0)",
        ),
        (
            "package wasi:nuclear@0.2.0; interface launch { f: func(); } world w { import launch; }",
            honest("wasi:nuclear/launch@0.2.0", "f"),
            "TODO",
        ),
        (
            "package a:b; world w { }",
            "(module)".to_owned(),
            "stranger: it does not export `gpud:plugin/checker` (this gpud speaks gpud:plugin@0.1.0)",
        ),
        (
            "package gpud:plugin@0.1.0; interface checker { describe: func() -> u32; check: func() -> u32; }
             world w { export checker; }",
            "(module
                (func (export \"gpud:plugin/checker@0.1.0#describe\") (result i32) (i32.const 1))
                (func (export \"gpud:plugin/checker@0.1.0#check\") (result i32) (i32.const 1)))"
                .to_owned(),
            "TODO",
        ),
        (
            "package gpud:plugin@0.1.0; interface log { write: func(text: string) -> u32; }
             world w { import log; }",
            "(module (import \"gpud:plugin/log@0.1.0\" \"write\" (func (param i32 i32) (result i32)))
                (memory (export \"memory\") 1))"
                .to_owned(),
            "TODO",
        ),
    ] {
        let wasm = forge::component(wit, &module);
        let refusal = lab.refusal("stranger", &wasm, &lab::grants(), lab::limits()).await;
        assert_eq!(refusal, expected);
    }
}
