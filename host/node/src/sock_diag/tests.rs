use std::net::{TcpListener, TcpStream};

use super::*;

#[test]
fn the_kernel_names_the_owner() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let local = listener.local_addr().unwrap();
    let client = TcpStream::connect(local).unwrap();
    let (_accepted, remote) = listener.accept().unwrap();
    let me = rustix::process::geteuid().as_raw();
    // A kernel without it is asked by another way.
    let answer = owner(remote, local);
    assert!(
        [
            DiagAnswer::Owner(me),
            DiagAnswer::NotFound,
            DiagAnswer::Unavailable
        ]
        .contains(&answer),
        "{answer:?}"
    );
    drop(client);
    assert_ne!(owner(remote, local), DiagAnswer::Owner(me));
}

#[test]
fn a_connection_that_is_not_accepted_is_nobodys() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    let client = TcpStream::connect(server).unwrap();
    let answer = owner(server, client.local_addr().unwrap());
    assert!(
        [
            DiagAnswer::NotAccepted,
            DiagAnswer::NotFound,
            DiagAnswer::Unavailable
        ]
        .contains(&answer),
        "{answer:?}"
    );
}

#[test]
fn answers_are_read_with_care() {
    let own: SocketAddr = "127.0.0.1:40000".parse().unwrap();
    let peer: SocketAddr = "127.0.0.1:15132".parse().unwrap();
    let mut answer = vec![0; HEADER + 72];
    answer[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    answer[STATE] = ESTABLISHED;
    answer[ID..ID + ENDS].copy_from_slice(&ends(own, peer));
    answer[UID..UID + 4].copy_from_slice(&1000_u32.to_ne_bytes());
    assert_eq!(read(&answer, own, peer), DiagAnswer::NotAccepted);
    answer[STATE] = SYN_RECEIVED;
    assert_eq!(read(&answer, own, peer), DiagAnswer::NotAccepted);
    answer[INODE..INODE + 4].copy_from_slice(&7_u32.to_ne_bytes());
    assert_eq!(read(&answer, own, peer), DiagAnswer::Nobody);
    answer[STATE] = ESTABLISHED;
    assert_eq!(read(&answer, own, peer), DiagAnswer::Owner(1000));
    assert_eq!(read(&answer, peer, own), DiagAnswer::Nobody);
    for length in 0..INODE + 4 {
        assert_eq!(read(&answer[..length], own, peer), DiagAnswer::Unavailable);
    }
    answer[STATE] = 10;
    assert_eq!(read(&answer, own, peer), DiagAnswer::Nobody, "it listens");
    answer[4..6].copy_from_slice(&ERROR.to_ne_bytes());
    assert_eq!(read(&answer, own, peer), DiagAnswer::Unavailable);
    answer[HEADER..HEADER + 4].copy_from_slice(&NOT_FOUND);
    assert_eq!(read(&answer, own, peer), DiagAnswer::NotFound);
    assert_eq!(question(own, peer).len(), HEADER + QUESTION);
}
