use super::*;
use crate::testing::context;
use proptest::prelude::*;

#[test]
fn files() {
    let of = |uncorrected, corrected, deferred| {
        Some(Counts {
            uncorrected,
            corrected,
            deferred,
        })
    };
    for (text, expected) in [
        ("ue: 0\nce: 0\n", of(0, 0, 0)),
        ("ue: 1\nce: 12\n", of(1, 12, 0)),
        ("ue: 1\nce: 12\nde: 3", of(1, 12, 3)),
        ("ue: 18446744073709551615\nce: 0", of(u64::MAX, 0, 0)),
        ("ue: 18446744073709551616\nce: 4", of(0, 4, 0)),
        ("Query currently inaccessible\n", None),
        ("ue:\nce: -1\n", None),
        ("", None),
    ] {
        assert_eq!(counts(text), expected, "{text}");
    }
}

#[test]
fn growth() {
    let mut growth = Growth::default();
    let mut context = context("x");
    let day = 86_400;
    assert_eq!(growth.add(&context, day, "a".into(), 0), 0);
    assert_eq!(growth, Growth::default());
    assert_eq!(growth.add(&context, day, "a".into(), 3), 3);
    context.now += 3_600_000;
    assert_eq!(growth.add(&context, day, "a".into(), 5), 5);
    let mut growth = Growth::restore(Some(&growth.save("b-1")), "b-1");
    context.now += 3 * 86_400_000;
    assert_eq!(growth.add(&context, day, "a".into(), 5), 0);
    growth.retain(|key| key != "a");
    assert_eq!(growth, Growth::default());
    assert_eq!(
        Growth::restore(Some("[\"b-1\",{\"a\":1}]"), "b-1"),
        Growth::default()
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_text_is_survived(text in "([uced]{1,2}(: )?[0-9]{0,24}\n?|\\PC{0,10}){0,6}") {
        counts(&text);
        Growth::restore(Some(&text), "b-1");
    }
}
