use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixStream};

use super::*;

#[tokio::test]
async fn who_connects_is_known() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap());
    let (client, accepted) = tokio::join!(client, listener.accept());
    let stream = Stream::tcp(accepted.unwrap().0);
    let peer = Peer::identify(&stream).unwrap();
    let me = socket_owner::own_uid();
    assert_eq!(peer.identity(), Identity::User(me));
    assert!(peer.is_owner() && peer.is_connected() && !peer.is_local_socket());
    drop(client);
    while peer.is_connected() {
        tokio::task::yield_now().await;
    }
    assert!(Peer::identify(&stream).is_none());
    let (client, server) = UnixStream::pair().unwrap();
    let peer = Peer::identify(&Stream::unix(server)).unwrap();
    assert!(peer.is_owner() && peer.is_local_socket());
    drop(client);
}

/// The port of a client that was reset before it was accepted, used by another client.
#[tokio::test]
async fn a_port_that_somebody_else_uses_now_proves_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap();
    let connect = async |port: u16| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.set_zero_linger().unwrap();
        socket.bind(([127, 0, 0, 1], port).into()).unwrap();
        socket.connect(server).await.unwrap()
    };
    let first = connect(0).await;
    let port = first.local_addr().unwrap().port();
    first.writable().await.unwrap();
    assert_eq!(first.try_write(b"queued").unwrap(), 6);
    drop(first);
    let second = connect(port).await;
    let reset = Stream::tcp(listener.accept().await.unwrap().0);
    let live = Stream::tcp(listener.accept().await.unwrap().0);
    assert!(Peer::identify(&reset).is_none());
    assert!(Peer::identify(&live).unwrap().is_owner());
    drop(second);
}

#[test]
fn hosts_of_one_network_are_one_client_and_networks_of_one_block_count_together() {
    let identity = |address: &str| Identity::of_address(address.parse().unwrap());
    for (address, client, block) in [
        ("2001:db8:1:2::3", "2001:db8:1:2::", "2001:db8:1::"),
        ("::ffff:192.0.2.1", "192.0.2.1", "192.0.2.0"),
        ("192.0.2.255", "192.0.2.255", "192.0.2.0"),
    ] {
        let found = identity(address);
        assert_eq!(found, Identity::Address(client.parse().unwrap()));
        assert_eq!(found.block(), Identity::Address(block.parse().unwrap()));
    }
    assert_eq!(Identity::Unknown.block(), Identity::Unknown);
    assert_eq!(Identity::User(1).block(), Identity::User(1));
}
