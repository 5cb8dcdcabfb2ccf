use proptest::prelude::*;

use super::*;

fn collect(
    splitter: &mut LineSplitter,
    taker: fn(&mut LineSplitter, &mut Vec<u8>) -> bool,
) -> Vec<String> {
    let mut records = Vec::new();
    loop {
        let mut out = Vec::new();
        if !taker(splitter, &mut out) {
            return records;
        }
        records.push(String::from_utf8(out).unwrap());
    }
}

#[test]
fn keeps_the_dictionary_with_its_line() {
    let mut splitter = LineSplitter::default();
    splitter.feed(b"a\n K=1\n L=2\n\nb\nc");
    assert_eq!(
        collect(&mut splitter, LineSplitter::take),
        ["a\n K=1\n L=2\n", "b\n"]
    );
    splitter.feed(b"c\n");
    assert_eq!(collect(&mut splitter, LineSplitter::take), [""; 0]);
    assert_eq!(collect(&mut splitter, LineSplitter::take_at_end), ["cc\n"]);
    splitter.feed(b"d");
    assert_eq!(collect(&mut splitter, LineSplitter::take_at_end), [""; 0]);
    assert_eq!(collect(&mut splitter, LineSplitter::take_at_end), ["d"]);
}

#[test]
fn an_overlong_line_is_cut_and_the_next_one_survives() {
    for chunk in [1, 1000, 100_000] {
        let mut splitter = LineSplitter::default();
        let text = [
            b"6,1,1,-;".as_slice(),
            &[b'x'; 3 * MAX_RECORD],
            b"\n6,2,2,-;next\n",
        ]
        .concat();
        let mut records = Vec::new();
        for part in text.chunks(chunk) {
            splitter.feed(part);
            records.extend(collect(&mut splitter, LineSplitter::take));
            assert!(
                chunk == 100_000 || splitter.bytes.len() <= 2 * MAX_RECORD,
                "grows without bound"
            );
        }
        records.extend(collect(&mut splitter, LineSplitter::take_at_end));
        assert_eq!(
            records.iter().map(String::len).collect::<Vec<_>>(),
            [MAX_RECORD + 1, 13],
            "{chunk}"
        );
    }
}

proptest! {
    /// However the bytes arrive, the records are the same.
    #[test]
    fn chunks_do_not_matter(lines in proptest::collection::vec("[a-z]{1,8}(\n K=[a-z]{0,3}){0,2}", 0..20), chunk in 1usize..40) {
        let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let mut splitter = LineSplitter::default();
        let mut records = Vec::new();
        for part in text.as_bytes().chunks(chunk) {
            splitter.feed(part);
            records.extend(collect(&mut splitter, LineSplitter::take));
        }
        records.extend(collect(&mut splitter, LineSplitter::take_at_end));
        prop_assert_eq!(records.concat(), text);
        prop_assert_eq!(records.len(), lines.len());
    }
}
