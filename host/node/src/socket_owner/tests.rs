use std::net::{TcpListener, TcpStream};

use super::*;

#[test]
fn own_connections_are_ones_own() {
    for host in ["127.0.0.1:0", "[::1]:0"] {
        // A machine without IPv6 has only the first.
        let Ok(listener) = TcpListener::bind(host) else {
            continue;
        };
        let local = listener.local_addr().unwrap();
        let client = TcpStream::connect(local).unwrap();
        let (accepted, remote) = listener.accept().unwrap();
        assert_eq!(uid(local, remote), Some(own_uid()), "{host}");
        drop((client, accepted));
        let nobody = SocketAddr::new(local.ip(), 1);
        assert_eq!(uid(local, nobody), None, "{host}");
    }
    // Closed while what it sent waits to be read: still in the table, and no longer anybody's.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let local = listener.local_addr().unwrap();
    let client = TcpStream::connect(local).unwrap();
    let (accepted, remote) = listener.accept().unwrap();
    drop(client);
    assert_eq!(uid(local, remote), None);
    drop(accepted);
    let elsewhere: SocketAddr = "192.0.2.1:80".parse().unwrap();
    assert_eq!(uid("127.0.0.1:1".parse().unwrap(), elsewhere), None);
}

#[test]
fn a_server_is_known_before_and_after_it_accepts() {
    for host in ["127.0.0.1:0", "[::1]:0"] {
        // A machine without IPv6 has only the first.
        let Ok(listener) = TcpListener::bind(host) else {
            continue;
        };
        let server = listener.local_addr().unwrap();
        let client = TcpStream::connect(server).unwrap();
        let local = client.local_addr().unwrap();
        assert_eq!(uid(local, server), None, "{host}");
        assert_eq!(server_uid(local, server), Some(own_uid()), "{host}");
        let accepted = listener.accept().unwrap();
        assert_eq!(uid(local, server), Some(own_uid()), "{host}");
        assert_eq!(server_uid(local, server), Some(own_uid()), "{host}");
        drop((client, accepted));
    }
    let elsewhere = "192.0.2.1:80".parse().unwrap();
    assert_eq!(server_uid("127.0.0.1:1".parse().unwrap(), elsewhere), None);
}

#[test]
fn rows_without_a_holder_and_rows_that_differ_are_never_roots() {
    for (rows, expected) in [
        (vec![], Holder::Unknown),
        (vec![(0, 0)], Holder::NotAccepted),
        (vec![(1000, 0)], Holder::NotAccepted),
        (vec![(0, 7)], Holder::User(0)),
        (vec![(1000, 7), (1000, 7)], Holder::User(1000)),
        (vec![(0, 7), (1000, 8)], Holder::Unknown),
        (vec![(0, 7), (0, 8)], Holder::Unknown),
        (vec![(0, 0), (0, 7)], Holder::Unknown),
    ] {
        assert_eq!(judge(rows.clone()), expected, "{rows:?}");
    }
}

#[cfg(target_endian = "little")]
#[test]
fn tables_are_read() {
    let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:3B1C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0\n\
            \x20  1: 0100007F:D431 0100007F:3B1C 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0\n";
    let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
    let find = |table: &str| rows(table, at(0xd431), at(0x3b1c));
    assert_eq!(find(table), [(1000, 2)]);
    assert!(rows(table, at(0x3b1c), at(0xd431)).is_empty());
    assert!(find(&table.replace(" 01 ", " 05 ")).is_empty());
    // Before the last step of the handshake no process can hold it.
    assert_eq!(find(&table.replace(" 01 ", " 03 ")), [(1000, 0)]);
    assert_eq!(
        address("00000000000000000000000001000000:0050"),
        Some("[::1]:80".parse().unwrap())
    );
    assert_eq!(
        address("0000000000000000FFFF00000100007F:0050"),
        Some("127.0.0.1:80".parse().unwrap())
    );
    for bad in [
        "",
        ":",
        "0100007F",
        "0100007F:",
        "xyz:1",
        "ä100007F:1",
        "0100007F:12345",
    ] {
        assert_eq!(address(bad), None, "{bad}");
    }
}
