//! Pages of a program's memory that are written to before anything reads them.

use std::collections::BTreeMap;
use std::ops::Range;

use wasm_encoder::{Encode, Function, Instruction, MemArg, MemArgTarget, ValType};
use wasmparser::Validator;

use crate::error::Error;
use crate::program::Program;
use crate::sections::{self, id};
use crate::space::{Kind, index};

/// Bytes in a page of [`touch_first`]: the smallest ones that processors have.
pub const PAGE: u32 = 4096;

/// The memory that a component's program begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartMemory {
    /// Its size, bytes.
    pub size: u64,
    /// The pages, by their numbers, from the first that holds something to the last.
    pub image: Range<u64>,
}

/// Looks at the memory that the program of a component begins with: that of the core module with the largest one, which
/// may lie in a component within it.
///
/// The image goes by each segment of data alone. Where one writes zeros over what another wrote it is too long.
///
/// # Errors
/// [`Error::Untouchable`] where [`touch_first`] can do nothing.
pub fn start_memory(component: &[u8]) -> Result<StartMemory, Error> {
    validate(component)?;
    let program = untouched(component)?;
    let mut image: Option<Range<u64>> = None;
    for (start, data) in program.data()? {
        let holds = |byte: &u8| *byte != 0;
        let (Some(first), Some(last)) = (data.iter().position(holds), data.iter().rposition(holds))
        else {
            continue;
        };
        let page = |at: usize| start.saturating_add(at as u64) / u64::from(PAGE);
        let (start, end) = (page(first), page(last) + 1);
        image = Some(match image {
            Some(before) => before.start.min(start)..before.end.max(end),
            None => start..end,
        });
    }
    Ok(StartMemory {
        size: program.size(),
        image: image.ok_or(Error::Untouchable(crate::Untouchable::NoProgram))?,
    })
}

/// Lets the program of a component write to these pages of its memory, each of [`PAGE`] bytes, before it does anything
/// else: to each the byte that is there already, by a start function. `None` where that cannot be done, or there is no
/// such page.
///
/// A runtime may map the memory of an instance copy-on-write. A page that is written to first is then copied at once; one
/// that is read first is mapped, and mapped again when it is written to. Otherwise nothing changes: functions keep their
/// numbers, and all other sections their content.
///
/// Both what is given and what is returned are validated. The same bytes and pages always give the same result.
///
/// # Errors
/// It is no component.
pub fn touch_first(component: &[u8], pages: &[u32]) -> Result<Option<Vec<u8>>, Error> {
    validate(component)?;
    match touched(component, pages) {
        Err(Error::Untouchable(_)) => Ok(None),
        other => other,
    }
}

fn touched(component: &[u8], pages: &[u32]) -> Result<Option<Vec<u8>>, Error> {
    let program = untouched(component)?;
    let addresses = pages.iter().filter_map(|page| page.checked_mul(PAGE));
    let within = addresses.filter(|address| u64::from(*address) < program.size());
    let bytes = program.bytes_at(within)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let output = program.replaced(component, &with_start(&program, &bytes)?)?;
    Validator::new()
        .validate_all(&output)
        .map_err(Error::Output)?;
    Ok(Some(output))
}

fn validate(component: &[u8]) -> Result<(), Error> {
    Validator::new()
        .validate_all(component)
        .map_err(Error::Invalid)?;
    match wasmparser::Parser::is_component(component) {
        true => Ok(()),
        false => Err(Error::NotAComponent),
    }
}

fn untouched(component: &[u8]) -> Result<Program<'_>, Error> {
    let program = Program::find(component)?;
    match program.module.start {
        None => Ok(program),
        Some(_) => Err(Error::Untouchable(crate::Untouchable::Starts)),
    }
}

/// The program with a function that writes these bytes to these addresses, as its last, and as its start.
fn with_start(program: &Program<'_>, bytes: &BTreeMap<u32, u8>) -> Result<Vec<u8>, Error> {
    let module = &program.module;
    let types = module.types.iter().map(|group| group.types().len()).sum();
    let func = module.imported(Kind::Func) + module.defined(Kind::Func);
    let mut sections = sections::of(program.bytes)?;
    let mut nothing_to_nothing = vec![FUNC_TYPE];
    let no_values: [ValType; 0] = [];
    no_values.encode(&mut nothing_to_nothing);
    no_values.encode(&mut nothing_to_nothing);
    sections::add(&mut sections, id::TYPE, &nothing_to_nothing)?;
    sections::add(&mut sections, id::FUNCTION, &encoded(&index(types)))?;
    sections::add(&mut sections, id::CODE, &encoded(&writing(bytes)))?;
    sections::insert(&mut sections, id::START, encoded(&func));
    let mut output = wasm_encoder::Module::new();
    for section in &sections {
        output.section(&section.raw());
    }
    Ok(output.finish())
}

/// What the type of a function begins with.
const FUNC_TYPE: u8 = 0x60;

fn writing(bytes: &BTreeMap<u32, u8>) -> Function {
    let mut function = Function::new([]);
    for (address, byte) in bytes {
        function.instruction(&Instruction::I32Const(address.cast_signed()));
        function.instruction(&Instruction::I32Const(i32::from(*byte)));
        function.instruction(&Instruction::I32Store8(MemArg {
            offset: 0,
            align: 0,
            target: MemArgTarget::Memory(0),
            ordering: None,
        }));
    }
    function.instruction(&Instruction::End);
    function
}

fn encoded(item: &impl Encode) -> Vec<u8> {
    let mut bytes = Vec::new();
    item.encode(&mut bytes);
    bytes
}

#[cfg(test)]
#[path = "touch_tests.rs"]
mod tests;
