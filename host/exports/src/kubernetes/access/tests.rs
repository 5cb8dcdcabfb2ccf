use super::*;

#[test]
fn the_nodes_name_is_found() {
    let identity = NodeIdentity {
        hostname: "GPU-7.example".into(),
        machine_id: String::new(),
    };
    let name = |yaml: &str, set: &[(&str, &str)]| {
        let settings: Settings = serde_yaml::from_str(yaml).unwrap();
        node_name(&settings, &identity, |wanted| {
            let found = set.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| (*value).to_owned())
        })
    };
    assert_eq!(name("{}", &[]), Ok("gpu-7.example".into()));
    assert_eq!(name("{}", &[("NODE_NAME", "a")]), Ok("a".into()));
    assert_eq!(name("{}", &[("NODE_NAME", "")]), Ok("gpu-7.example".into()));
    assert_eq!(name("node: b", &[("NODE_NAME", "a")]), Ok("b".into()));
    assert_eq!(name("node: env:N", &[("N", "c")]), Ok("c".into()));
    assert!(
        name("node: env:N", &[])
            .unwrap_err()
            .contains("N is not set")
    );
    for bad in ["a/../b", "", "A"] {
        let problem = name(&format!("node: {bad:?}"), &[]).unwrap_err();
        assert!(problem.contains("is no name of a node"), "{problem}");
    }
}
