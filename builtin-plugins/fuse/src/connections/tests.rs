use super::*;
use gpud_sdk::types::SizeInfo;
use proptest::prelude::*;

fn read(name: &str, [threshold, background, waiting]: [&str; 3]) -> Result<Values, NumbersError> {
    let file = |path: &str| match path.rsplit_once('/') {
        Some((_, "congestion_threshold")) => Ok(threshold.to_owned()),
        Some((_, "max_background")) => Ok(background.to_owned()),
        Some((folder, "waiting")) => {
            assert_eq!(folder, format!("{ROOT}/{name}"));
            Ok(waiting.to_owned())
        }
        _ => Err(AccessError::NotFound(path.to_owned())),
    };
    Connection::read(name, file).values
}

#[test]
fn numbers_are_read() {
    let values = read("42", ["9\n", "12\n", "3\n"]).unwrap();
    assert_eq!(
        values,
        Values {
            device: 42,
            congestion_threshold: 9,
            max_background: 12,
            waiting: 3
        }
    );
    assert_eq!(values.max_background_percent(), 25.0);
    assert_eq!(values.congested_percent(), 3.0 / 9.0 * 100.0);
    let unlimited = read("42", ["0", "0", "3"]).unwrap();
    assert_eq!(
        (
            unlimited.congested_percent(),
            unlimited.max_background_percent()
        ),
        (0.0, 0.0)
    );
}

#[test]
fn what_is_wrong_is_named() {
    let long = "x".repeat(5_000);
    for (name, files, expected) in [
        (
            "abc",
            ["9", "12", "0"],
            "connections: \"abc\" is no device number",
        ),
        ("+1", ["9", "12", "0"], "\"+1\" is no device number"),
        ("-1", ["9", "12", "0"], "\"-1\" is no device number"),
        ("99999999999", ["9", "12", "0"], "is no device number"),
        (
            "42",
            ["\n", "12", "0"],
            "42/congestion_threshold: \"\" is no number",
        ),
        (
            "42",
            ["9", "1.5", "0"],
            "42/max_background: \"1.5\" is no number",
        ),
        (
            "42",
            ["9", "12", "\u{fffd}\0\u{1}"],
            "42/waiting: \"\u{fffd}\\0\\u{1}\" is no number",
        ),
        (
            "42",
            ["9", "12", &long],
            "42/waiting: \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\" is no number",
        ),
        ("42", ["9", "12", "99999999999999999999"], "is no number"),
    ] {
        let Err(NumbersError::Failed(error)) = read(name, files) else {
            panic!("{name} {files:?}");
        };
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn an_empty_file_is_one_of_a_filesystem_that_was_unmounted() {
    assert_eq!(read("42", ["9\n", "12\n", ""]), Err(NumbersError::Gone));
}

#[test]
fn sources_that_do_not_answer() {
    let too_large = AccessError::TooLarge(SizeInfo {
        what: "waiting".into(),
        size: 4096,
        limit: 64,
    });
    for (error, expected) in [
        (AccessError::NotFound("x".into()), NumbersError::Gone),
        (AccessError::Denied("x".into()), NumbersError::Denied),
        (
            too_large,
            NumbersError::Failed("waiting: 4096 is more than the limit of 64".into()),
        ),
    ] {
        let connection = Connection::read("42", |_| Err(error.clone()));
        assert_eq!(connection.values, Err(expected));
    }
}

proptest! {
    #[test]
    fn any_text_is_survived(name in "[0-9]{1,12}|\\PC{0,9}", text in "-?[0-9]{0,25}\n?|\\PC{0,99}") {
        if let Ok(values) = read(&name, [&text, &text, &text]) {
            prop_assert!(values.congested_percent().is_finite());
            prop_assert!(values.max_background_percent().is_finite());
        }
    }
}
