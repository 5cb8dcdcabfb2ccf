use proptest::prelude::*;

use super::*;

fn pressed(keys: &str) -> (Model, Flow) {
    let mut model = Model::new(false);
    let mut flow = Flow::GoOn;
    for key in keys.chars() {
        let key = match key {
            '\n' => Key::Enter,
            '\u{1b}' => Key::Escape,
            '\u{8}' => Key::Back,
            '\t' => Key::NextPane,
            key => Key::Char(key),
        };
        flow = model.press(key);
    }
    (model, flow)
}

#[test]
fn keys_choose_filter_and_leave() {
    assert_eq!(pressed("3").0.pane, Pane::Events);
    assert_eq!(pressed("\t\t\t\t").0.pane, Pane::Overview);
    assert_eq!(pressed("/ecq\u{8}c\n").0.filter, "ecc");
    assert_eq!(pressed("/q").1, Flow::GoOn, "typed into the filter");
    assert_eq!(
        pressed("/x\n\u{1b}").1,
        Flow::GoOn,
        "clears the filter first"
    );
    assert_eq!(pressed("/x\n\u{1b}\u{1b}").1, Flow::End);
    assert_eq!(pressed("?\u{1b}").1, Flow::GoOn, "closes the help");
    assert_eq!(pressed("q").1, Flow::End);
    assert!(pressed("w").0.only_bad && !pressed("ww").0.only_bad);
    assert_eq!(pressed("jjjk").0.scroll, 2);
    assert_eq!(pressed("jj2").0.scroll, 0, "another pane begins at its top");
    let (mut model, _) = pressed("/x");
    assert_eq!(model.press(Key::Interrupt), Flow::End);
}

#[test]
fn what_the_daemon_said_last_stays() {
    let mut model = Model::new(false);
    model.take(Ok(MachineSnapshot::default()), 5);
    model.take(Err("gone".into()), 7);
    assert_eq!((model.taken, model.problem.as_deref()), (5, Some("gone")));
    model.take(Ok(MachineSnapshot::default()), 9);
    assert_eq!((model.taken, model.problem), (9, None));
}

proptest! {
    #[test]
    fn any_keys_can_be_typed(keys in "\\PC{0,200}") {
        let (model, _) = pressed(&keys);
        prop_assert!(model.filter.chars().count() <= MAX_FILTER);
    }
}
