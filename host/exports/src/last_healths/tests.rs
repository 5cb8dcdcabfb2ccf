use super::*;

const OK: Health = Health::Healthy;
const BAD: Health = Health::Unhealthy;
const NEW: Health = Health::Initializing;

fn change(healths: &mut LastHealths, was: &Health, is: &Health) -> Option<Health> {
    healths.change("disk", "disk", Some(&Subject::Node), was, is)
}

#[test]
fn a_restart_is_no_change_of_health() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("exports");
    let restart = |healths: &mut LastHealths| {
        healths.save().unwrap();
        *healths = LastHealths::load(Some(&folder));
    };
    let mut healths = LastHealths::load(Some(&folder));
    assert_eq!(change(&mut healths, &NEW, &OK), None, "it begins healthy");
    assert!(healths.wants_saving());
    assert_eq!(change(&mut healths, &OK, &BAD), Some(OK));
    restart(&mut healths);
    assert!(!healths.wants_saving());
    assert_eq!(change(&mut healths, &NEW, &BAD), None, "reported before");
    restart(&mut healths);
    assert_eq!(
        change(&mut healths, &NEW, &OK),
        Some(BAD),
        "repaired in between"
    );
    restart(&mut healths);
    assert_eq!(change(&mut healths, &OK, &NEW), None);
    assert_eq!(change(&mut healths, &NEW, &BAD), Some(OK));
    let other = healths.change("disk", "disk", None, &NEW, &BAD);
    assert_eq!(other, Some(NEW), "another subject");
}

#[test]
fn a_file_that_makes_no_sense_is_none() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["", "[1]", "{\"a\": 5}", "{"] {
        fs::write(folder.path().join(FILE), text).unwrap();
        let mut healths = LastHealths::load(Some(folder.path()));
        assert_eq!(change(&mut healths, &NEW, &BAD), Some(NEW), "{text}");
        healths.save().unwrap();
    }
    let mut nowhere = LastHealths::load(None);
    assert_eq!(change(&mut nowhere, &NEW, &BAD), Some(NEW));
    assert!(!nowhere.wants_saving());
    nowhere.save().unwrap();
}
