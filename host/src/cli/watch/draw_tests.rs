//! Whole screens.

use ratatui::{Terminal, backend::TestBackend};

use super::{
    super::model::{Key, Model},
    *,
};
use crate::{
    cli::live::{MachineSnapshot, gpus::GpuRow, machine::tests::look},
    summary::test_machines::{NOW, failing, fine},
};

fn screen(model: &mut Model, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model)).unwrap();
    terminal.backend().to_string()
}

fn model(found: MachineSnapshot) -> Model {
    let mut model = Model::new(false);
    model.now = NOW;
    model.take(Ok(found), NOW);
    model
}

fn pressed(model: &mut Model, keys: &str) {
    for key in keys.chars() {
        model.press(match key {
            '\n' => Key::Enter,
            key => Key::Char(key),
        });
    }
}

#[test]
fn every_pane_in_80_by_24() {
    let mut model = model(look(failing()));
    for (key, name) in [
        ("1", "overview"),
        ("2", "gpus"),
        ("3", "events"),
        ("4", "checks"),
        ("?", "help"),
    ] {
        pressed(&mut model, key);
        insta::assert_snapshot!(format!("watch_{name}_80"), screen(&mut model, 80, 24));
    }
}

#[test]
fn wide_screens_and_healthy_machines() {
    let mut failing = model(look(failing()));
    insta::assert_snapshot!("watch_overview_200", screen(&mut failing, 200, 50));
    let mut fine = model(MachineSnapshot {
        summary: fine(),
        ..MachineSnapshot::default()
    });
    insta::assert_snapshot!("watch_fine_80", screen(&mut fine, 80, 24));
}

#[test]
fn a_filter_and_a_daemon_that_has_gone() {
    let mut model = model(look(failing()));
    pressed(&mut model, "4/POWER");
    model.now = NOW + 90_000;
    model.take(
        Err("cannot reach https://127.0.0.1:1: refused\u{1b}[2J".into()),
        model.now,
    );
    insta::assert_snapshot!("watch_filter_80", screen(&mut model, 80, 24));
    let mut first = Model::new(false);
    first.take(Err("cannot reach it".into()), NOW);
    assert!(screen(&mut first, 80, 24).contains("no answer yet"));
}

#[test]
fn seventy_two_gpus_are_scrolled_to_the_last() {
    let gpus = (0..72).map(|index| GpuRow {
        index,
        ..GpuRow::default()
    });
    let mut model = model(MachineSnapshot {
        gpus: gpus.collect(),
        ..look(fine())
    });
    pressed(&mut model, "2G");
    let shown = screen(&mut model, 80, 24);
    assert!(shown.contains("\"71 "), "{shown}");
    pressed(&mut model, "k");
    assert!(!screen(&mut model, 80, 24).contains("\"71 "), "one line up");
}

#[test]
fn any_size_can_be_drawn() {
    let mut model = model(look(failing()));
    for (width, height) in [(1, 1), (2, 3), (10, 4), (20, 5), (500, 3)] {
        for key in ["1", "2", "3", "4", "?"] {
            pressed(&mut model, key);
            screen(&mut model, width, height);
        }
    }
}
