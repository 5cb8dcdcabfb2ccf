//! Profiles in the format of pprof (`profile.proto` of github.com/google/pprof), and as folded stacks.
//!
//! Only the fields that gpud fills: what a sample is, stacks of names, times. Written by hand, since the format's few
//! fields need no generated code.

use std::{collections::HashMap, io::Write as _};

use flate2::{Compression, write::GzEncoder};

/// What a number of a sample is: its kind and its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueType {
    /// As in `cpu`.
    pub kind: &'static str,
    /// As in `nanoseconds`.
    pub unit: &'static str,
}

/// One stack and its numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Names, the outermost first.
    pub stack: Vec<String>,
    /// One for each type of the profile.
    pub values: Vec<u64>,
}

/// A profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// What the numbers of each sample are; the last is what tools show unless told otherwise.
    pub types: Vec<ValueType>,
    /// The stacks.
    pub samples: Vec<Sample>,
    /// When it was begun, Unix nanoseconds.
    pub time: u64,
    /// How long it took, nanoseconds; 0 for a moment.
    pub duration: u64,
    /// What should be known about it.
    pub comment: String,
}

impl Profile {
    /// As pprof reads it, compressed.
    ///
    /// # Errors
    /// Never into memory; the compressor wants it said.
    pub fn to_pprof(&self) -> std::io::Result<Vec<u8>> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&self.encode())?;
        packed.finish()
    }

    /// One line for each stack, `outer;inner value`, the largest first, as tools for flame graphs read it. The value is
    /// that of the last type.
    pub fn to_folded(&self) -> String {
        let mut lines: Vec<(u64, String)> = self
            .samples
            .iter()
            .filter_map(|sample| {
                let names: Vec<String> = sample.stack.iter().map(|name| plain(name)).collect();
                let value = sample.values.last().copied().filter(|value| *value > 0)?;
                Some((value, names.join(";")))
            })
            .collect();
        lines.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
        let lines = lines
            .iter()
            .map(|(value, names)| format!("{names} {value}\n"));
        lines.collect()
    }

    fn encode(&self) -> Vec<u8> {
        let mut texts = Texts::default();
        let mut profile = Vec::new();
        for value_type in &self.types {
            let value_type = encoded_type(*value_type, &mut texts);
            message(&mut profile, 1, &value_type);
        }
        // A function and a location for each name, both with the number of its text.
        let mut functions: Vec<u64> = Vec::new();
        for sample in &self.samples {
            let stack: Vec<u64> = sample
                .stack
                .iter()
                .map(|name| texts.number(&plain(name)))
                .collect();
            functions.extend(&stack);
            let mut encoded = Vec::new();
            packed(&mut encoded, 1, stack.iter().rev().copied());
            packed(&mut encoded, 2, sample.values.iter().copied());
            message(&mut profile, 2, &encoded);
        }
        functions.sort_unstable();
        functions.dedup();
        for number in &functions {
            let mut line = Vec::new();
            integer(&mut line, 1, *number);
            let mut location = Vec::new();
            integer(&mut location, 1, *number);
            message(&mut location, 4, &line);
            message(&mut profile, 4, &location);
        }
        for number in &functions {
            let mut function = Vec::new();
            integer(&mut function, 1, *number);
            integer(&mut function, 2, *number);
            integer(&mut function, 3, *number);
            message(&mut profile, 5, &function);
        }
        integer(&mut profile, 9, self.time);
        integer(&mut profile, 10, self.duration);
        if let Some(shown) = self.types.last() {
            let period = encoded_type(*shown, &mut texts);
            message(&mut profile, 11, &period);
            integer(&mut profile, 12, 1);
            let default = texts.number(shown.kind);
            integer(&mut profile, 14, default);
        }
        if !self.comment.is_empty() {
            let comment = texts.number(&self.comment);
            packed(&mut profile, 13, std::iter::once(comment));
        }
        for text in &texts.all {
            message(&mut profile, 6, text.as_bytes());
        }
        profile
    }
}

fn encoded_type(value_type: ValueType, texts: &mut Texts) -> Vec<u8> {
    let mut encoded = Vec::new();
    integer(&mut encoded, 1, texts.number(value_type.kind));
    integer(&mut encoded, 2, texts.number(value_type.unit));
    encoded
}

/// A name that breaks neither a line nor a stack of the folded form, and is never empty.
fn plain(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| if c == ';' || c.is_control() { '_' } else { c })
        .collect();
    match name.trim() {
        "" => "?".to_owned(),
        name => name.to_owned(),
    }
}

/// The table of texts; the first is empty, as the format wants it.
struct Texts {
    all: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            all: vec![String::new()],
            numbers: HashMap::from([(String::new(), 0)]),
        }
    }
}

impl Texts {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// A base-128 number, the lowest seven bits first.
fn varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn integer(bytes: &mut Vec<u8>, field: u64, number: u64) {
    varint(bytes, field << 3);
    varint(bytes, number);
}

fn message(bytes: &mut Vec<u8>, field: u64, content: &[u8]) {
    varint(bytes, (field << 3) | 2);
    varint(bytes, content.len() as u64);
    bytes.extend_from_slice(content);
}

fn packed(bytes: &mut Vec<u8>, field: u64, numbers: impl Iterator<Item = u64>) {
    let mut content = Vec::new();
    for number in numbers {
        varint(&mut content, number);
    }
    message(bytes, field, &content);
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use proptest::prelude::*;

    use super::*;

    fn cpu(samples: &[(&[&str], u64)]) -> Profile {
        let sample = |(stack, value): &(&[&str], u64)| Sample {
            stack: stack.iter().map(|name| (*name).to_owned()).collect(),
            values: vec![value / 10, *value],
        };
        Profile {
            types: vec![
                ValueType {
                    kind: "samples",
                    unit: "count",
                },
                ValueType {
                    kind: "cpu",
                    unit: "nanoseconds",
                },
            ],
            samples: samples.iter().map(sample).collect(),
            time: 1_700_000_000_000_000_000,
            duration: 1_000_000_000,
            comment: "threads".to_owned(),
        }
    }

    /// A field of a message: a number, or bytes.
    #[derive(Debug, PartialEq)]
    enum Field {
        Number(u64),
        Bytes(Vec<u8>),
    }

    fn number(bytes: &mut &[u8]) -> u64 {
        let mut number = 0;
        for at in 0.. {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            number |= u64::from(byte & 0x7f) << (7 * at);
            if byte < 0x80 {
                return number;
            }
        }
        unreachable!()
    }

    fn fields(mut bytes: &[u8]) -> Vec<(u64, Field)> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let tag = number(&mut bytes);
            let value = match tag & 7 {
                0 => Field::Number(number(&mut bytes)),
                2 => {
                    let length = number(&mut bytes) as usize;
                    let (content, rest) = bytes.split_at(length);
                    bytes = rest;
                    Field::Bytes(content.to_vec())
                }
                other => panic!("wire type {other}"),
            };
            found.push((tag >> 3, value));
        }
        found
    }

    fn numbers(field: &Field) -> Vec<u64> {
        let Field::Bytes(bytes) = field else { panic!() };
        let mut bytes = bytes.as_slice();
        let mut found = Vec::new();
        while !bytes.is_empty() {
            found.push(number(&mut bytes));
        }
        found
    }

    /// Stacks (innermost first) and values, read back by way of locations, functions and texts.
    fn read_back(bytes: &[u8]) -> Vec<(Vec<String>, Vec<u64>)> {
        let all = fields(bytes);
        let of = |wanted: u64| all.iter().filter(move |(field, _)| *field == wanted);
        let inner = |field: &Field| match field {
            Field::Bytes(bytes) => fields(bytes),
            Field::Number(_) => panic!(),
        };
        let texts: Vec<String> = of(6)
            .map(|(_, text)| match text {
                Field::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
                Field::Number(_) => panic!(),
            })
            .collect();
        let mut functions = HashMap::new();
        for (_, function) in of(5) {
            let function = inner(function);
            let [(1, Field::Number(id)), (2, Field::Number(name)), _] = function.as_slice() else {
                panic!("{function:?}");
            };
            functions.insert(*id, texts[*name as usize].clone());
        }
        let mut locations = HashMap::new();
        for (_, location) in of(4) {
            let location = inner(location);
            let [(1, Field::Number(id)), (4, line)] = location.as_slice() else {
                panic!("{location:?}");
            };
            let line = inner(line);
            let [(1, Field::Number(function))] = line.as_slice() else {
                panic!("{line:?}");
            };
            locations.insert(*id, functions[function].clone());
        }
        of(2)
            .map(|(_, sample)| {
                let sample = inner(sample);
                let stack = numbers(&sample[0].1);
                let names = stack.iter().map(|id| locations[id].clone()).collect();
                (names, numbers(&sample[1].1))
            })
            .collect()
    }

    #[test]
    fn what_is_written_can_be_read() {
        let profile = cpu(&[(&["gpud", "worker", "user"], 70), (&["gpud", "store"], 3)]);
        let packed = profile.to_pprof().unwrap();
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice())
            .read_to_end(&mut plain)
            .unwrap();
        assert_eq!(
            read_back(&plain),
            [
                (
                    vec!["user".to_owned(), "worker".to_owned(), "gpud".to_owned()],
                    vec![7, 70]
                ),
                (vec!["store".to_owned(), "gpud".to_owned()], vec![0, 3]),
            ]
        );
        let all = fields(&plain);
        let first = |wanted: u64| all.iter().find(|(field, _)| *field == wanted).unwrap();
        assert_eq!(first(9).1, Field::Number(profile.time));
        assert_eq!(first(10).1, Field::Number(profile.duration));
        assert_eq!(
            first(6).1,
            Field::Bytes(Vec::new()),
            "the first text is empty"
        );
    }

    #[test]
    fn folded_stacks() {
        let profile = cpu(&[
            (&["gpud", "a;b\n", "user"], 5),
            (&["gpud", "", "kernel"], 70),
            (&["gpud", "idle"], 0),
        ]);
        assert_eq!(profile.to_folded(), "gpud;?;kernel 70\ngpud;a_b_;user 5\n");
    }

    proptest! {
        #[test]
        fn any_names_and_numbers(
            samples in proptest::collection::vec((proptest::collection::vec(r"\PC{0,9}", 1..5), any::<u64>()), 0..9)
        ) {
            let profile = Profile {
                samples: samples
                    .iter()
                    .map(|(stack, value)| Sample { stack: stack.clone(), values: vec![*value] })
                    .collect(),
                ..cpu(&[])
            };
            let back = read_back(&profile.encode());
            prop_assert_eq!(back.len(), samples.len());
            for ((names, values), (stack, value)) in back.iter().zip(&samples) {
                prop_assert_eq!(names.len(), stack.len());
                prop_assert_eq!(values, &vec![*value]);
            }
            prop_assert!(profile.to_folded().lines().all(|line| line.rsplit_once(' ').is_some()));
        }
    }
}
