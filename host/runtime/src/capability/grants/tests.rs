use super::*;
use serde_json::json;

#[test]
fn all_words_parse() {
    let grants = Grants::parse(&json!({
        "sysfs": ["/proc/stat", "/sys/class/net/**"], "exec": ["lsblk", "/usr/bin/findmnt"],
        "net": { "unix": ["/run/x.sock"], "loopback": [9100] },
        "kmsg": true, "history": true, "state": true, "nvml": true, "config": false,
    }))
    .unwrap();
    assert!(
        grants
            .sysfs
            .as_ref()
            .unwrap()
            .allows("/sys/class/net/eth0/mtu")
    );
    assert!(!grants.sysfs.as_ref().unwrap().allows("/etc/shadow"));
    assert_eq!(
        grants.exec,
        ExecGrant::parse(&json!(["lsblk", "/usr/bin/findmnt"])).ok()
    );
    assert!(grants.allow(Interface::Kmsg) && !grants.allow(Interface::Config));
}

#[test]
fn grpc_is_granted_by_socket_and_method() {
    let grants = Grants::parse(&json!({
        "net": { "unix": ["/run/y.sock"], "grpc": { "/run/x.sock": ["/a.B/Read", "/a.B/List"] } },
    }))
    .unwrap();
    let net = grants.net.unwrap();
    assert!(net.allows_grpc("/run/x.sock", "/a.B/List"));
    for (socket, method) in [
        ("/run/x.sock", "/a.B/Write"),
        ("/run/x.sock", "/a.B/"),
        ("/run/x.sock", "/a.B/listing"),
        ("/run/y.sock", "/a.B/List"),
        ("", ""),
    ] {
        assert!(!net.allows_grpc(socket, method), "{socket} {method}");
    }
}

#[test]
fn wider_grants_are_named() {
    let entry = json!({
        "sysfs": ["/proc/*", "/sys/class/**"], "statvfs": ["/**"], "exec": ["lsblk", "findmnt"], "state": true,
        "net": {"unix": ["/x"], "loopback": [1, 2], "tcp": ["a:1"], "grpc": {"/y": ["/a.B/C", "/a.B/D"]}},
    });
    let entry = Grants::parse(&entry).unwrap();
    assert_eq!(entry.exceeded_by(&entry), None);
    for (other, wider) in [
        (json!({}), None),
        (json!({"sysfs": ["/proc/stat", "/sys/class/net/**"]}), None),
        (json!({"sysfs": ["/sys/**"]}), Some("sysfs")),
        (json!({"statvfs": ["/home/**"], "exec": ["lsblk"]}), None),
        (json!({"exec": "bash"}), Some("exec")),
        (json!({"exec": ["ls"]}), Some("exec")),
        (
            json!({"net": {"grpc": {"/y": ["/a.B/D"]}, "loopback": [2]}}),
            None,
        ),
        (json!({"net": {"grpc": {"/x": ["/a.B/D"]}}}), Some("net")),
        (json!({"net": {"tcp": ["a:2"]}}), Some("net")),
        (
            json!({"net": {"tcp": ["a:1"], "any_user": true}}),
            Some("net"),
        ),
        (json!({"state": true, "kmsg": false}), None),
        (json!({"kmsg": true}), Some("kmsg")),
    ] {
        let parsed = Grants::parse(&other).unwrap();
        assert_eq!(entry.exceeded_by(&parsed), wider, "{other}");
    }
    let bash = Grants::parse(&json!({"exec": "bash"})).unwrap();
    assert_eq!(
        bash.exceeded_by(&Grants::parse(&json!({"exec": ["ls"]})).unwrap()),
        None
    );
    let none = Grants::default();
    assert_eq!(none.exceeded_by(&entry), Some("sysfs"));
}

#[test]
fn without_scope_everything_is_linked_and_nothing_reached() {
    let all = Interface::ALL;
    let grants = Grants::without_scope(&all);
    assert!(all.iter().all(|interface| grants.allow(*interface)));
    assert!(!grants.sysfs.unwrap().allows("/proc/stat"));
    assert_eq!(grants.exec, Some(ExecGrant::nothing()));
    assert_eq!(grants.net, Some(NetGrant::default()));
    let none = Grants::without_scope(&[]);
    assert!(!none.allow(Interface::Sysfs) && !none.allow(Interface::Kmsg));
}

#[test]
fn what_others_of_a_component_need_is_linked_and_not_allowed() {
    let grants = Grants::parse(&json!({"nvml": true, "statvfs": ["/**"]})).unwrap();
    assert!(grants.may_be_linked(Interface::Nvml) && !grants.may_be_linked(Interface::Kmsg));
    let grants = grants.of_builtin();
    for interface in Interface::ALL {
        assert!(grants.may_be_linked(interface), "{interface:?}");
    }
    let allowed = Interface::ALL.into_iter().filter(|it| grants.allow(*it));
    assert_eq!(
        allowed.collect::<Vec<_>>(),
        [
            Interface::Types,
            Interface::Log,
            Interface::Nvml,
            Interface::Sysfs
        ]
    );
}

#[test]
fn bad_grants_name_the_key() {
    let cases = [
        (json!(["sysfs"]), "expected a mapping"),
        (
            json!({"sysf": []}),
            "unknown interface `sysf`; known: config, exec, history, kmsg, net, nvml, state, sysfs",
        ),
        (json!({"types": true}), "unknown interface `types`"),
        (
            json!({"kmsg": "yes"}),
            "grants.kmsg: expected true or false",
        ),
        (
            json!({"exec": "sh"}),
            "grants.exec: expected `bash`, a list of programs",
        ),
        (
            json!({"exec": {"programs": ["ls"], "env": ["LD_PRELOAD"]}}),
            "grants.exec: env: `LD_PRELOAD` decides",
        ),
        (
            json!({"exec": ["bin/x"]}),
            "`bin/x` is neither a program's name nor an absolute path",
        ),
        (
            json!({"sysfs": "/proc"}),
            "grants.sysfs: expected a list of path patterns",
        ),
        (
            json!({"net": {"udp": []}}),
            "grants.net: unknown field `udp`",
        ),
        (
            json!({"net": {"grpc": ["/run/x.sock"]}}),
            "grants.net: invalid type: sequence, expected a map",
        ),
    ];
    for (value, expected) in cases {
        let error = Grants::parse(&value).unwrap_err().to_string();
        assert!(error.contains(expected), "{value}: {error}");
    }
}
