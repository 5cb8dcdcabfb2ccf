use super::*;

#[test]
fn one_private_address_per_interface_is_chosen() {
    let listed = [
        ("lo", "127.0.0.1"),
        ("eth0", "fe80::1"),
        ("eth0", "8.8.8.8"),
        ("eth0", "10.1.2.3"),
        ("eth0", "192.168.0.9"),
        ("eth1", "2001:db8::1"),
        ("eth1", "fd00::5"),
        ("eth1", "fe80::5"),
        ("eth2", "172.32.0.1"),
        ("eth3", "172.31.0.1"),
        ("docker0", "172.17.0.1"),
        ("ib0", "10.9.9.9"),
        ("wg.calico", "10.8.8.8"),
    ];
    let chosen = choose(
        listed
            .into_iter()
            .map(|(name, ip)| (name.to_owned(), ip.parse().unwrap())),
    );
    let chosen: Vec<(String, String)> = chosen
        .into_iter()
        .map(|(name, ip)| (name, ip.to_string()))
        .collect();
    let expected = [
        ("eth0", "10.1.2.3"),
        ("eth1", "fd00::5"),
        ("eth3", "172.31.0.1"),
    ];
    assert_eq!(
        chosen,
        expected.map(|(name, ip)| (name.to_owned(), ip.to_owned()))
    );
}

#[test]
fn flags_tell_whether_it_is_up() {
    for (flags, up) in [
        ("0x1003\n", true),
        ("0x1002\n", false),
        ("", false),
        ("zz", false),
    ] {
        assert_eq!(is_up(flags.as_bytes()), up, "{flags:?}");
    }
}

#[tokio::test]
async fn the_own_machine_lists_only_what_it_has() {
    let files = Files::live().unwrap();
    for nic in private_interfaces(&files).await.unwrap() {
        let folder = std::path::Path::new("/sys/class/net").join(&nic.interface);
        assert!(folder.exists() && is_private(nic.ip), "{nic:?}");
    }
}
