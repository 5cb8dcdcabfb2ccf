use super::*;

fn config(cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: main\npreferences: {{}}\n\
         contexts:\n- name: main\n  context: {{cluster: c, user: u, namespace: x}}\n- name: other\n  context: {{cluster: gone, user: u}}\n\
         clusters:\n- name: c\n  cluster: {cluster}\nusers:\n- name: u\n  user: {user}\n"
    )
}

fn problem(cluster: &str, user: &str) -> String {
    match parse(&config(cluster, user), None, Path::new("/etc/k")) {
        Err(problem) => problem,
        Ok(_) => panic!("{cluster} {user} was taken"),
    }
}

#[test]
fn files_and_data_are_found() {
    let text = config(
        "{server: 'https://10.0.0.1:6443/', certificate-authority: pki/ca.crt}",
        "{client-certificate: /var/lib/kubelet/pki/c.pem, client-key-data: 'aGVs\n      bG8='}",
    );
    let cluster = parse(&text, None, Path::new("/etc/k")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(cluster.server, "https://10.0.0.1:6443");
    let is =
        |found: &Option<InlineOrFile>, path: &str| *found == Some(InlineOrFile::File(path.into()));
    assert!(is(&cluster.authority, "/etc/k/pki/ca.crt"));
    let (certificate, key) = cluster.identity.unwrap();
    assert!(is(&Some(certificate), "/var/lib/kubelet/pki/c.pem"));
    assert!(key == InlineOrFile::Inline(b"hello".to_vec()));
    assert!(cluster.token.is_none());
    let text = config("{server: 'https://h'}", "{token: abc, tokenFile: /run/t}");
    let cluster = parse(&text, Some("main"), Path::new("/")).unwrap_or_else(|e| panic!("{e}"));
    assert!(
        is(&cluster.token, "/run/t"),
        "the file counts, it may be replaced"
    );
}

#[test]
fn files_with_secrets_are_known() {
    let user = "{tokenFile: t, client-certificate: c.pem, client-key: c.key}";
    let text = config("{server: 'https://h', certificate-authority: ca.crt}", user);
    let cluster = parse(&text, None, Path::new("/etc/k")).unwrap_or_else(|e| panic!("{e}"));
    let expected = ["/etc/k/t", "/etc/k/c.key"].map(PathBuf::from);
    assert_eq!(cluster.secret_files(), expected);
}

#[test]
fn what_is_not_done_is_said_and_no_secret_is_repeated() {
    let good = "{server: 'https://h'}";
    for (cluster, user, expected) in [
        (
            "{server: 'https://h', insecure-skip-tls-verify: true}",
            "{}",
            "insecure-skip-tls-verify",
        ),
        (
            "{server: 'https://h', proxy-url: 'http://p'}",
            "{}",
            "HTTPS_PROXY",
        ),
        (
            "{server: 'https://h', tls-server-name: a}",
            "{}",
            "tls-server-name",
        ),
        (good, "{exec: {command: aws}}", "exec"),
        (good, "{auth-provider: {name: gcp}}", "auth-provider"),
        (good, "{username: a, password: hunter2}", "username"),
        (good, "{client-key-data: 'aGVsbG8='}", "not both"),
        (
            good,
            "{client-key-data: hunter2!}",
            "client-key-data is no base64",
        ),
        ("{server: 'http://h'}", "{token: hunter2}", "not https"),
        ("{serve: 'https://h'}", "{}", "no kubeconfig"),
    ] {
        let found = problem(cluster, user);
        assert!(found.contains(expected), "{found}");
        assert!(!found.contains("hunter2"), "{found}");
    }
    let text = config("{server: 'http://127.0.0.1:8001'}", "{token: a}");
    assert!(parse(&text, None, Path::new("/")).is_ok(), "kubectl proxy");
    for (context, expected) in [
        ("none", "no context \"none\""),
        ("other", "no cluster \"gone\""),
    ] {
        let found = parse(&text, Some(context), Path::new("/")).err();
        assert!(found.unwrap().contains(expected));
    }
    assert!(
        parse("token: hunter2: [", None, Path::new("/"))
            .err()
            .is_some_and(|e| !e.contains("hunter2"))
    );
}
