use super::*;

fn settings(yaml: &str) -> Result<Settings, String> {
    let read: Settings = serde_yaml::from_str(yaml).map_err(|error| error.to_string())?;
    read.check().map(|()| read)
}

#[test]
fn everything_may_be_left_out() {
    let settings = settings("{}").unwrap();
    let [Some(secret)] = settings.secrets()[..] else {
        panic!("one secret");
    };
    assert_eq!(
        secret.to_string(),
        "file:/var/run/secrets/kubernetes.io/serviceaccount/token"
    );
    assert_eq!(settings.target(), "the pod's cluster");
    assert!(settings.default_conditions && settings.events && settings.labels);
    assert_eq!(settings.taint, None);
    assert_eq!(settings.heartbeat(), Duration::from_secs(300));
}

#[test]
fn what_kubernetes_would_refuse_is_refused_here() {
    let rule = |kind: &str| format!("conditions: [{{type: {kind}, components: [disk]}}]");
    for (yaml, problem) in [
        (rule("Ready"), "Kubernetes' own"),
        (rule("GpudHealthy"), "unhealthy_from"),
        (rule("'Disk bad'"), "is no type"),
        (
            "conditions: [{type: A, components: [disk], reason: 'no good'}]".to_owned(),
            "is no reason",
        ),
        ("label_prefix: Bad_Domain".to_owned(), "label_prefix"),
        ("taint: 'a b'".to_owned(), "taint"),
        ("heartbeat: 1s".to_owned(), "heartbeat is from"),
        ("kubeconfig: relative".to_owned(), "no absolute path"),
        ("context: a".to_owned(), "none is named"),
        ("taints: x".to_owned(), "unknown field"),
    ] {
        let found = settings(&yaml).unwrap_err();
        assert!(found.contains(problem), "{yaml}: {found}");
    }
    for yaml in [
        "taint: gpud.dev/unhealthy",
        "taint: unhealthy",
        "kubeconfig: /etc/kubernetes/kubelet.conf\ncontext: a",
        "node: env:MY_NODE",
        "service_account: /var/run/secrets/gpud",
    ] {
        settings(yaml).unwrap();
    }
}

#[test]
fn label_values() {
    for (text, fits) in [
        ("1654823000123", true),
        ("A-b_c.d", true),
        ("", false),
        ("-a", false),
        ("a b", false),
        (&"a".repeat(64), false),
    ] {
        assert_eq!(is_label_value(text), fits, "{text}");
    }
}
