use super::*;

#[test]
fn its_values_are_bounded_as_those_of_the_store() {
    let mut values: Values = Arc::default();
    keep(
        &mut values,
        BTreeMap::from([("a".to_owned(), Some(vec![1]))]),
    );
    assert_eq!(values.get("a"), Some(&vec![1]));
    let many = (0..300).map(|n| (n.to_string(), Some(Vec::new())));
    keep(&mut values, many.collect());
    keep(
        &mut values,
        BTreeMap::from([("b".to_owned(), Some(vec![0; MAX_BYTES]))]),
    );
    assert_eq!(values.len(), 1, "too much is not taken");
    keep(&mut values, BTreeMap::from([("a".to_owned(), None)]));
    assert!(values.is_empty());
}

#[test]
fn one_that_was_not_loaded_says_why_and_is_asked_nothing() {
    let shadow = Shadow::new("sha256:x".into(), Err("no such file".into()));
    let view = shadow.view("a");
    assert_eq!((view.problem.as_str(), view.compared), ("no such file", 0));
    assert_eq!(
        (view.component.as_str(), view.digest.as_str()),
        ("a", "sha256:x")
    );
}
