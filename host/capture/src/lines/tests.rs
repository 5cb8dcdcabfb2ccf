use super::*;

fn lines(bytes: &[u8]) -> Vec<(u64, String)> {
    let mut lines = Lines::new(bytes);
    let mut line = RawLine::default();
    let mut all = Vec::new();
    while lines.next(&mut line).unwrap() {
        all.push((
            line.number,
            String::from_utf8_lossy(&line.text).into_owned(),
        ));
    }
    all
}

#[test]
fn line_ends_may_be_mixed() {
    let expected: Vec<_> = [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, ""), (6, "e")]
        .map(|(number, text)| (number, text.to_owned()))
        .into();
    assert_eq!(lines(b"a\nb\r\nc\rd\r\r\n\ne"), expected);
    assert!(lines(b"").is_empty());
    assert_eq!(lines(b"\n"), [(1, String::new())]);
}

#[test]
fn a_hole_ends_a_line_and_a_few_zeros_do_not() {
    let zeros = [0; 100];
    let log = [b"cut of", &zeros[..], b"\xef\xbb\xbfnew\0one\0\nnext"].concat();
    let texts: Vec<_> = lines(&log).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["cut of", "new\0one", "next"]);
    assert!(lines(&zeros).is_empty());
}
