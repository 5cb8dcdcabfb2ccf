use super::*;
use proptest::prelude::*;

/// The answer of `redfish-get`, out of a file that has a tree's documents by their paths.
pub(crate) fn serve(tree: &str) -> impl FnMut(&str) -> Result<String, String> {
    let tree: serde_json::Map<String, Value> = serde_json::from_str(tree).unwrap();
    move |asked| {
        let paths: Vec<String> = match asked.split_once('{') {
            Some((head, rest)) => {
                let rest = rest.trim_end_matches('}');
                rest.split(',').map(|one| format!("{head}{one}")).collect()
            }
            None => vec![asked.to_owned()],
        };
        let one = |path: &String| match tree.get(path) {
            Some(document) => format!("{document}\n#200 https://bmc{path}\n"),
            None => format!("{{}}\n#404 https://bmc{path}\n"),
        };
        Ok(paths.iter().map(one).collect())
    }
}

#[test]
fn along_the_links_and_no_others() {
    let tree = r##"{
            "/redfish/v1/": {"Chassis":{"@odata.id":"/redfish/v1/Chassis"},"Tasks":{"@odata.id":"/redfish/v1/Tasks"},"Managers":{"@odata.id":"/redfish/v1/Managers"}},
            "/redfish/v1/Chassis": {"Members":[{"@odata.id":"/redfish/v1/Chassis/A"},{"@odata.id":"/redfish/v1/Chassis/{x,y}"},{"@odata.id":"https://elsewhere/redfish/v1/B"}]},
            "/redfish/v1/Chassis/A": {"@odata.type":"#Chassis.v1_9_0.Chassis","Thermal":{"@odata.id":"/redfish/v1/Chassis/A/Thermal"},"Links":{"Drives":[{"@odata.id":"/redfish/v1/D"}]}},
        "/redfish/v1/Chassis/A/Thermal": {"Fans":[{"@odata.id":"/redfish/v1/Chassis/A/Thermal#/Fans/0","Name":"F"}]},
        "/redfish/v1/Managers": {"Members":[{"@odata.id":"/redfish/v1/Managers/1"}]},
        "/redfish/v1/Managers/1": {"LogServices":{"@odata.id":"/redfish/v1/Managers/1/LogServices"},"Chassis":null},
        "/redfish/v1/Managers/1/LogServices": {"Members":[{"@odata.id":"/redfish/v1/Managers/1/LogServices/Sel"},{"@odata.id":"/redfish/v1/Managers/1/LogServices/Lclog"}]},
        "/redfish/v1/Managers/1/LogServices/Sel": {"@odata.type":"#LogService.v1_1_0.LogService","Id":"Sel","Entries":{"@odata.id":"/redfish/v1/Managers/1/LogServices/Sel/Entries"}},
        "/redfish/v1/Managers/1/LogServices/Lclog": {"@odata.type":"#LogService.v1_1_0.LogService","Id":"Lclog","Entries":{"@odata.id":"/redfish/v1/Managers/1/LogServices/Lclog/Entries"}}
    }"##;
    let tree = crawl(serve(tree)).unwrap();
    let paths: Vec<&str> = tree.pages.iter().map(|page| page.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/redfish/v1/",
            "/redfish/v1/Chassis",
            "/redfish/v1/Managers",
            "/redfish/v1/Chassis/A",
            "/redfish/v1/Managers/1",
            "/redfish/v1/Chassis/A/Thermal",
            "/redfish/v1/Managers/1/LogServices",
            "/redfish/v1/Managers/1/LogServices/Sel",
            "/redfish/v1/Managers/1/LogServices/Lclog",
        ]
    );
    // A link that leads nowhere, as some firmware keeps.
    assert_eq!((tree.unread, tree.first_unread), (0, None));
    assert_eq!(
        tree.absent,
        ["/redfish/v1/Managers/1/LogServices/Sel/Entries"]
    );
}

#[test]
fn one_resource_under_two_names_and_the_newest_entries() {
    let mut entries: Vec<String> = (1..=40)
        .map(|number| format!(r#"{{"@odata.id":"/redfish/v1/L/Entries/{number}"}}"#))
        .collect();
    entries.reverse();
    let tree = format!(
        r##"{{
            "/redfish/v1/": {{"Chassis":{{"@odata.id":"/redfish/v1/Chassis/"}},"Systems":{{"@odata.id":"/redfish/v1/Chassis"}},"LogServices":{{"@odata.id":"/redfish/v1/L/Entries"}}}},
            "/redfish/v1/Chassis/": {{"Members":[]}},
            "/redfish/v1/L/Entries": {{"@odata.type":"#LogEntryCollection.LogEntryCollection","Members":[{}]}}
        }}"##,
        entries.join(",")
    );
    let tree = crawl(serve(&tree)).unwrap();
    let read: Vec<&str> = tree.pages.iter().map(|page| page.path.as_str()).collect();
    assert_eq!(
        read,
        [
            "/redfish/v1/",
            "/redfish/v1/Chassis/",
            "/redfish/v1/L/Entries"
        ]
    );
    assert_eq!(tree.absent.len(), MAX_ENTRIES);
    assert_eq!(tree.absent[0], "/redfish/v1/L/Entries/9");
}

#[test]
fn what_cannot_be_read() {
    let root = r#"{"/redfish/v1/":{"Chassis":{"@odata.id":"/redfish/v1/Chassis"}}}"#;
    let mut serve = serve(root);
    let refused = crawl(|asked| serve(asked).map(|text| text.replace("#404", "#401")));
    assert!(
        refused
            .unwrap_err()
            .ends_with("is refused (HTTP 401): check the credential")
    );
    assert_eq!(
        crawl(|_| Err("curl: (60) no".to_owned())),
        Err("curl: (60) no".to_owned())
    );
    assert!(crawl(|_| Ok("not JSON\n#200 https://b/redfish/v1/\n".to_owned())).is_err());
    assert!(crawl(|_| Ok(String::new())).is_err());
    assert!(is_answer("{}\n#404 https://b/\n") && !is_answer("\n#000 https://b/\n"));
}

proptest! {
    #[test]
    fn any_answer_is_survived_and_the_walk_ends(text in "[ -~\n]{0,200}", name in "[a-z]{1,8}") {
        let _ = crawl(|_| Ok(text.clone()));
        // A tree without end.
        let mut calls = 0;
        let _ = crawl(|_| {
            calls += 1;
            Ok(format!("{{\"Members\":[{{\"@odata.id\":\"/redfish/v1/{name}{calls}\"}}]}}\n#200 https://b/redfish/v1/x\n"))
        });
        prop_assert!(calls <= MAX_LEVELS + 1);
    }
}
