use super::*;

fn miss(values: &Values, component: &str, key: &str) -> ValueMiss {
    values.get(component, key).unwrap_err()
}

#[test]
fn what_was_read_is_known_until_something_is_written() {
    let values = Values::default();
    for value in [Some(b"one".to_vec()), None] {
        let asked = miss(&values, "a", "k");
        values.keep("a", "k", value.clone(), asked);
        assert_eq!(values.get("a", "k"), Ok(value));
        values.changed("b");
        assert!(values.get("a", "k").is_ok());
        values.changed("a");
    }
    miss(&values, "a", "k");
    assert_eq!(values.lock().bytes, 0);
}

#[test]
fn values_that_may_be_outdated_are_not_cached() {
    let values = Values::default();
    let asked = miss(&values, "a", "k");
    values.changed("a");
    values.keep("a", "k", Some(b"old".to_vec()), asked);
    miss(&values, "a", "k");
}

#[test]
fn it_is_bounded() {
    let values = Values::default();
    for n in 0..200 {
        let key = n.to_string();
        let asked = miss(&values, "a", &key);
        values.keep("a", &key, Some(vec![0; 64 * 1024]), asked);
        assert!(values.lock().bytes <= MAX_BYTES);
        assert!(values.get("a", &key).is_ok());
    }
    let asked = miss(&values, "b", "k");
    values.keep("b", "k", Some(vec![0; MAX_BYTES]), asked);
    miss(&values, "b", "k");
}

#[test]
fn a_closed_store_knows_nothing() {
    let values = Values::default();
    let asked = miss(&values, "a", "k");
    values.keep("a", "k", None, asked);
    values.close();
    let asked = miss(&values, "a", "k");
    values.keep("a", "k", None, asked);
    miss(&values, "a", "k");
}
