use std::{net::TcpListener, thread, time::Duration};

use super::*;
use crate::socket_owner::own_uid;

#[test]
fn the_process_that_listens_is_named() {
    for host in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"] {
        // A machine without IPv6 has only the first ones.
        let Ok(listener) = TcpListener::bind(host) else {
            continue;
        };
        let port = listener.local_addr().unwrap().port();
        let ip = listener.local_addr().unwrap().ip();
        let asked = match ip.is_unspecified() {
            true => SocketAddr::from(([127, 0, 0, 1], port)),
            false => SocketAddr::new(ip, port),
        };
        let found = find(asked).unwrap();
        assert_eq!(found.uid, own_uid(), "{host}");
        assert_eq!(found.process.unwrap().0, std::process::id(), "{host}");
        // Also to somebody who wants the port of every address.
        assert_eq!(
            user(SocketAddr::from(([0, 0, 0, 0], port))),
            Some(own_uid())
        );
        drop(listener);
        // A process that another test starts at this moment holds a copy of the socket until it runs its program.
        let freed = (0..500).any(|_| {
            let free = user(asked).is_none();
            if !free {
                thread::sleep(Duration::from_millis(10));
            }
            free
        });
        assert!(freed, "{host}");
    }
}

#[cfg(target_endian = "little")]
#[test]
fn the_socket_of_the_very_address_comes_first() {
    let row = |address: &str, state: &str, uid: u32, inode: u32| {
        format!(
            "   0: {address} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  {uid}        0 {inode} 1 0\n"
        )
    };
    let table = [
        "  sl  local_address rem_address st ...\n".to_owned(),
        row("00000000:3B1C", "0A", 1, 11),
        row("0100007F:3B1C", "0A", 2, 12),
        row("0100007F:3B1C", "01", 3, 13),
        row("0200007F:3B1D", "0A", 4, 14),
    ]
    .concat();
    let at = |last, port| SocketAddr::from(([127, 0, 0, last], port));
    let found =
        |address| nearest(find_in(&table, address).into_iter()).map(|one| (one.uid, one.inode));
    assert_eq!(found(at(1, 0x3b1c)), Some((2, 12)));
    assert_eq!(found(at(9, 0x3b1c)), Some((1, 11)));
    assert_eq!(found(at(2, 0x3b1d)), Some((4, 14)));
    assert_eq!(found(at(1, 0x3b1d)), None);
    assert!(find_in("nonsense\n1: 2 3", at(1, 1)).is_empty());
}

#[test]
fn a_socket_of_another_family_or_of_two_users_is_not_taken_for_the_one_that_listens() {
    let one = |fit, uid, inode| (fit, Listening { uid, inode });
    for (found, expected) in [
        (vec![], None),
        // Another user may listen on every IPv6 address beside a server of every IPv4 address.
        (
            vec![
                one(AddressMatch::Family, 0, 1),
                one(AddressMatch::Other, 1000, 2),
            ],
            Some(0),
        ),
        (
            vec![
                one(AddressMatch::Exact, 1000, 1),
                one(AddressMatch::Family, 0, 2),
            ],
            Some(1000),
        ),
        (
            vec![
                one(AddressMatch::Exact, 0, 1),
                one(AddressMatch::Exact, 0, 2),
            ],
            Some(0),
        ),
        (
            vec![
                one(AddressMatch::Exact, 0, 1),
                one(AddressMatch::Exact, 1000, 2),
            ],
            None,
        ),
        (vec![one(AddressMatch::Exact, 0, 0)], None),
    ] {
        let holder = nearest(found.clone().into_iter());
        assert_eq!(holder.map(|holder| holder.uid), expected, "{found:?}");
    }
    let (v4, v6): (IpAddr, IpAddr) = ("127.0.0.1".parse().unwrap(), "::1".parse().unwrap());
    let (any4, any6) = ("0.0.0.0".parse().unwrap(), "::".parse().unwrap());
    assert_eq!(AddressMatch::of(any4, v4), AddressMatch::Family);
    assert_eq!(AddressMatch::of(any6, v4), AddressMatch::Other);
    assert_eq!(AddressMatch::of(any6, v6), AddressMatch::Family);
    assert_eq!(
        AddressMatch::of(v4, "::ffff:127.0.0.1".parse().unwrap()),
        AddressMatch::Exact
    );
}

#[test]
fn names_are_shown_without_control_characters() {
    assert_eq!(shown("gpud\n"), "gpud");
    assert_eq!(shown("a\u{1b}[2Jb"), "a?[2Jb");
    let holder = |uid, process| PortHolder { uid, process }.to_string();
    assert_eq!(holder(0, None), "root");
    assert_eq!(
        holder(1000, Some((7, "python3".to_owned()))),
        "user 1000 (process 7, python3)"
    );
}
