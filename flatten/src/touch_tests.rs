//! What is written is what is there already, nothing else changes, and what cannot be done without a doubt is left.

use proptest::prelude::*;
use wasmparser::{Operator, Parser, Payload};

use super::*;
use crate::{Untouchable, module::Module};

/// A program with a bit of everything, in a component.
const PROGRAM: &str = r#"
    (core module $small (memory 1) (data (i32.const 0) "small"))
    (core module $program
        (import "host" "f" (func $f (param i32)))
        (memory (export "memory") 2)
        (table 1 funcref)
        (global $g (mut i32) (i32.const 7))
        (func $first (export "first") (result i32) (global.get $g))
        (func $second (memory.init $passive (i32.const 0) (i32.const 0) (i32.const 1)) data.drop $passive)
        (elem (i32.const 0) func $first)
        (data (i32.const 4095) "abc")
        (data $passive "not yet")
        (data (i32.const 8192) "\80\00\00")
        (data (i32.const 8193) "d")
        (@custom "note" (after data) "kept"))
"#;

fn binary(inner: &str) -> Vec<u8> {
    wat::parse_str(format!("(component {inner})")).unwrap()
}

/// A component with one program.
fn program(fields: &str) -> Vec<u8> {
    binary(&format!("(core module {fields})"))
}

fn touched_by(component: &[u8], pages: &[u32]) -> Vec<u8> {
    touch_first(component, pages).unwrap().unwrap()
}

/// Address and byte of each write in the start function of a component's program.
fn writes(component: &[u8]) -> Vec<(u32, u8)> {
    let program = Program::find(component).unwrap();
    let body = program.module.body(program.module.start.unwrap()).unwrap();
    let operators = body.get_operators_reader().unwrap().into_iter();
    let operators: Vec<Operator<'_>> = operators.map(Result::unwrap).collect();
    let (end, writes) = operators.split_last().unwrap();
    assert!(matches!(end, Operator::End));
    let one = |operators: &[Operator<'_>]| match operators {
        [
            Operator::I32Const { value: address },
            Operator::I32Const { value: byte },
            Operator::I32Store8 { memarg },
        ] if memarg.offset == 0 => (address.cast_unsigned(), u8::try_from(*byte).unwrap()),
        other => panic!("{other:?}"),
    };
    writes.chunks(3).map(one).collect()
}

/// The sections of a program, custom ones included.
fn parts(component: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let program = Program::find(component).unwrap();
    let sections = sections::of(program.bytes).unwrap().into_iter();
    sections
        .map(|section| (section.id, section.data.into_owned()))
        .collect()
}

#[test]
fn each_page_gets_the_byte_that_is_there() {
    let before = binary(PROGRAM);
    let after = touched_by(&before, &[2, 0, 1, 31, 2, 32, u32::MAX]);
    assert_eq!(
        writes(&after),
        [(0, 0), (4096, b'b'), (8192, 0x80), (31 * 4096, 0)],
        "pages beyond the memory are left out"
    );
    assert_eq!(after, touched_by(&before, &[0, 1, 2, 31]), "the same again");
    assert_eq!(touch_first(&after, &[0]).unwrap(), None, "and not twice");
    assert_eq!(touch_first(&before, &[]).unwrap(), None);
    assert_eq!(touch_first(&before, &[32]).unwrap(), None);
}

#[test]
fn all_else_stays() {
    let before = binary(PROGRAM);
    let after = touched_by(&before, &[1]);
    let (before, after) = (parts(&before), parts(&after));
    let changed = [id::TYPE, id::FUNCTION, id::START, id::CODE];
    let others = |parts: &[(u8, Vec<u8>)]| {
        let others = parts.iter().filter(|(id, _)| !changed.contains(id));
        others.cloned().collect::<Vec<_>>()
    };
    assert_eq!(others(&before), others(&after));
    for id in [id::TYPE, id::FUNCTION, id::CODE] {
        let of = |parts: &[(u8, Vec<u8>)]| {
            let section = parts.iter().find(|(other, _)| *other == id);
            section.unwrap().1.clone()
        };
        let (before, after) = (of(&before), of(&after));
        assert_eq!(after[0], before[0] + 1);
        assert_eq!(after[1..before.len()], before[1..], "section {id}");
    }
}

#[test]
fn a_program_without_functions_gets_the_sections_that_it_lacks() {
    let after = touched_by(&program(r#"(memory 1) (data (i32.const 5) "x")"#), &[0]);
    let ids: Vec<u8> = parts(&after).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [1, 3, 5, 8, 10, 11]);
    assert_eq!(writes(&after), [(0, 0)]);
}

#[test]
fn the_program_may_lie_in_a_nested_component() {
    let nested = format!("(component) (component (component {PROGRAM}) (core module)) {PROGRAM}");
    let before = binary(&nested);
    let after = touched_by(&before, &[1]);
    let programs = |component: &[u8]| {
        let parts = Parser::new(0).parse_all(component).map(Result::unwrap);
        let modules = parts.filter_map(|part| match part {
            Payload::ModuleSection {
                unchecked_range, ..
            } => Some(
                crate::component::slice(component, unchecked_range)
                    .unwrap()
                    .to_vec(),
            ),
            _ => None,
        });
        let starts = modules.map(|module| Module::parse(&module).unwrap().start.is_some());
        starts.collect::<Vec<_>>()
    };
    assert_eq!(programs(&before), [false; 5]);
    assert_eq!(programs(&after), [false, true, false, false, false]);
    assert_eq!(writes(&after), [(4096, b'b')]);
}

#[test]
fn the_image_reaches_from_the_first_byte_that_is_not_zero_to_the_last() {
    for (data, image) in [
        (r#"(data (i32.const 0) "x")"#, 0..1),
        (r#"(data (i32.const 4095) "xy")"#, 0..2),
        (r#"(data (i32.const 4095) "\00y")"#, 1..2),
        (
            r#"(data (i32.const 40960) "x\00") (data (i32.const 8191) "\00x\00")"#,
            2..11,
        ),
        (
            r#"(data (i32.const 4095) "x\00") (data (i32.const 100) "\00")"#,
            0..1,
        ),
    ] {
        let found = start_memory(&program(&format!("(memory 3) {data}"))).unwrap();
        assert_eq!(
            found,
            StartMemory {
                size: 3 << 16,
                image
            },
            "{data}"
        );
    }
}

#[test]
fn what_is_not_plain_is_left_as_it_is() {
    let data = r#"(data (i32.const 0) "x")"#;
    for (fields, why) in [
        ("".to_owned(), Untouchable::NoProgram),
        ("(memory 1)".to_owned(), Untouchable::NoProgram),
        (
            r#"(memory 1) (data "passive")"#.to_owned(),
            Untouchable::NoProgram,
        ),
        (
            format!(r#"(import "a" "m" (memory 1)) {data}"#),
            Untouchable::NoProgram,
        ),
        (
            format!("(memory 1) {data} (func $f) (start $f)"),
            Untouchable::Starts,
        ),
        (format!("(memory 1) (memory 2) {data}"), Untouchable::Memory),
        (
            format!(r#"(import "a" "m" (memory 1)) (memory 2) {data}"#),
            Untouchable::Memory,
        ),
        (format!("(memory 1 1 shared) {data}"), Untouchable::Memory),
        (
            r#"(memory i64 1) (data (i64.const 0) "x")"#.to_owned(),
            Untouchable::Memory,
        ),
        (
            r#"(import "a" "g" (global i32)) (memory 1) (data (global.get 0) "x")"#.to_owned(),
            Untouchable::Data,
        ),
        (
            r#"(memory 1) (data (i32.const 65535) "xy")"#.to_owned(),
            Untouchable::Data,
        ),
        (
            r#"(memory 1) (data (i32.const -1) "x")"#.to_owned(),
            Untouchable::Data,
        ),
    ] {
        let component = program(&fields);
        assert_eq!(touch_first(&component, &[0]).unwrap(), None, "{fields}");
        let found = start_memory(&component).unwrap_err();
        assert!(
            matches!(found, Error::Untouchable(found) if found == why),
            "{fields}: {found}"
        );
    }
    for no_component in [&wat::parse_str("(module)").unwrap()[..], b"", b"garbage"] {
        assert!(touch_first(no_component, &[0]).is_err());
        assert!(start_memory(no_component).is_err());
    }
}

/// What the format says that a memory holds at the beginning.
fn image(segments: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut memory = vec![0; 1 << 16];
    for (start, data) in segments {
        let start = *start as usize;
        memory[start..start + data.len()].copy_from_slice(data);
    }
    memory
}

proptest! {
    #[test]
    fn whatever_the_data_the_writes_change_nothing(
        segments in prop::collection::vec((0..60_000_u32, prop::collection::vec(any::<u8>(), 0..5000)), 1..8),
        pages in prop::collection::btree_set(0..16_u32, 1..16),
    ) {
        let data: Vec<String> = segments.iter().map(|(start, data)| {
            let bytes: String = data.iter().map(|byte| format!("\\{byte:02x}")).collect();
            format!("(data (i32.const {start}) \"{bytes}\")")
        }).collect();
        let component = program(&format!("(memory 1) {}", data.join(" ")));
        let pages: Vec<u32> = pages.into_iter().collect();
        let memory = image(&segments);
        let expected: Vec<(u32, u8)> =
            pages.iter().map(|page| (page * PAGE, memory[(page * PAGE) as usize])).collect();
        prop_assert_eq!(writes(&touched_by(&component, &pages)), expected);
    }
}
