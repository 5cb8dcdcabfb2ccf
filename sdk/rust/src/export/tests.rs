use super::{equal, has};
use crate::{
    CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report, Scanner, Trigger,
};

struct First;
struct Second;

impl Checker for First {
    fn check(_: &CheckContext) -> Result<Report, Error> {
        Err(Error::failed("check of the first"))
    }
}

impl KmsgWatcher for First {
    fn patterns(component: &str) -> Vec<String> {
        vec![format!("pattern of {component}")]
    }

    fn on_messages(_: &CheckContext, _: Vec<Message>) -> Result<Vec<Event>, Error> {
        Err(Error::failed("messages of the first"))
    }
}

impl Scanner for First {
    fn scan(_: &CheckContext) -> Result<Report, Error> {
        Err(Error::failed("scan of the first"))
    }
}

impl Checker for Second {
    fn check(_: &CheckContext) -> Result<Report, Error> {
        Err(Error::failed("check of the second"))
    }
}

const FIRST: &str = "first";

crate::member!(FIRST => First + kmsg_watcher + scanner: Descriptor::new(FIRST, "One"));
crate::member!("second" => Second: Descriptor::new("second", "Another").manual());
crate::export!([First, Second] + kmsg_watcher + scanner);

fn context(component: &str) -> CheckContext {
    CheckContext {
        component: component.to_owned(),
        now: 0,
        trigger: Trigger::Manual,
        boot_id: String::new(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn said<T: std::fmt::Debug>(answer: Result<T, Error>) -> String {
    answer.unwrap_err().to_string()
}

#[test]
fn each_component_has_its_own_checker() {
    let none = "this plugin has no component `third`";
    for (component, check, scan) in [
        ("first", "check of the first", "scan of the first"),
        ("second", "check of the second", "check of the second"),
        ("third", none, none),
    ] {
        let context = context(component);
        let checked = said(Members::check(&context));
        assert!(checked.contains(check), "{component}: {checked}");
        let scanned = said(Members::scan(&context));
        assert!(scanned.contains(scan), "{component}: {scanned}");
    }
}

#[test]
fn kernel_messages_reach_the_member_that_watches() {
    assert_eq!(Members::patterns("first"), ["pattern of first"]);
    for component in ["second", "third"] {
        assert_eq!(Members::patterns(component), Vec::<String>::new());
    }
    let first = said(Members::on_messages(&context("first"), Vec::new()));
    assert!(first.contains("messages of the first"), "{first}");
    let second = Members::on_messages(&context("second"), Vec::new());
    assert!(second.unwrap().is_empty());
    let third = said(Members::on_messages(&context("third"), Vec::new()));
    assert!(third.contains("no component `third`"), "{third}");
}

#[test]
fn each_member_says_which_exports_it_does_not_use() {
    use crate::bindings::checker::exports::gpud::plugin::checker::Guest;

    let described = <Members as Guest>::describe();
    let described: Vec<(&str, Vec<&str>)> = described
        .components
        .iter()
        .map(|component| {
            let unused = component.extra.iter().filter(|(key, _)| key == "without");
            let unused = unused.map(|(_, export)| export.as_str());
            (component.name.as_str(), unused.collect())
        })
        .collect();
    assert_eq!(
        described,
        [
            ("first", vec![]),
            ("second", vec!["scanner", "kmsg-watcher"])
        ]
    );
}

#[test]
fn words_are_found_as_a_whole() {
    assert!(has(&["scanner", "kmsg_watcher"], "kmsg_watcher"));
    assert!(!has(&["kmsg_watchers", "kmsg"], "kmsg_watcher"));
    assert!(!has(&[], "scanner"));
    assert!(equal(b"", b"") && !equal(b"a", b"b"));
}
