//! The view of a site.

use super::*;

#[test]
fn a_site_has_its_own_view() {
    let now = CheckContext {
        component: "nfs".to_owned(),
        now: 200_000,
        trigger: Trigger::Scheduled,
        boot_id: "b".to_owned(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    };
    let ignored = r#"{"nfs_server_not_responding":{"severity":"ignore"}}"#;
    let twice = r#"{"nfs_server_not_responding":{"severity":"critical","threshold":2}}"#;
    for (policy, seen, left, reason) in [
        (
            ignored,
            vec![silent(A, 100)],
            false,
            Some("ok (site policy)"),
        ),
        (ignored, vec![lock(100)], true, None),
        (
            ignored,
            vec![silent(A, 100), lock(101)],
            true,
            Some("ok (site policy)"),
        ),
        // Nothing that would have been a hang.
        (ignored, vec![silent(A, 100), ok(101)], false, Some("ok")),
        (
            twice,
            vec![silent(A, 100), silent(B, 101)],
            false,
            Some("ok (site policy)"),
        ),
        (
            twice,
            vec![silent(A, 100), silent(A, 101)],
            false,
            Some("NFS server not responding: a (2 times) (site policy)"),
        ),
        // The server answers again.
        (
            twice,
            vec![silent(A, 100), silent(A, 101), ok(102)],
            false,
            Some("ok"),
        ),
    ] {
        let document = format!("{{\"policy\":{policy}}}");
        let policy = policy::alone(&document, &crate::patterns::CATALOG).unwrap();
        let mut events = stored(&seen);
        for stored in &mut events {
            let server = stored.event.message.rsplit(": ").next().unwrap().to_owned();
            stored.event.subject = Some(subject(&server));
        }
        let mut history = KernelLogHistory {
            events: Ok(events),
            reboots: || Ok(Vec::new()),
        };
        let ruled = by_policy(&now, &policy, &mut history).unwrap();
        let hang = judge(&history.events.unwrap(), history.reboots).unwrap();
        assert_eq!(hang.is_some(), left, "{document} {seen:?}");
        let mut state = HealthState::healthy(&now, "ok");
        if let Some(ruled) = &ruled {
            ruled.lay_over(&now, &policy, &mut state);
        }
        assert_eq!(
            ruled.map(|_| state.reason.as_str()),
            reason,
            "{document} {seen:?}"
        );
    }
}
