//! Passes an open descriptor to the process at the other end of a socket.

use std::{
    io,
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    io::{IoSlice, IoSliceMut, retry_on_intr},
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
    },
};

/// Sends a few bytes and a descriptor in one message, without waiting for room.
///
/// # Errors
/// The system's; [`io::ErrorKind::WriteZero`] for a message that was sent in part.
pub fn send(socket: impl AsFd, bytes: &[u8], passed: BorrowedFd<'_>) -> io::Result<()> {
    let passed = [passed];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&passed)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let sent = retry_on_intr(|| sendmsg(&socket, &[IoSlice::new(bytes)], &mut control, flags))?;
    match sent == bytes.len() {
        true => Ok(()),
        false => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Waits for a message, and returns the number of bytes that it has and the descriptor that came with it. No bytes mean that
/// the other end is closed.
///
/// # Errors
/// The system's.
pub fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received =
        retry_on_intr(|| recvmsg(&socket, &mut [IoSliceMut::new(buffer)], &mut control, flags))?;
    let mut passed = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
            passed = descriptors.next();
        }
    }
    Ok((received.bytes, passed))
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::{Read as _, Write as _},
        os::unix::net::UnixStream,
    };

    use super::*;

    #[test]
    fn an_open_file_arrives_with_its_bytes() {
        let (here, there) = UnixStream::pair().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"content").unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        send(&here, b"x", file.as_fd()).unwrap();
        let mut buffer = [0; 8];
        let (length, passed) = receive(&there, &mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"x");
        let mut text = String::new();
        File::from(passed.unwrap())
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "content");
        (&here).write_all(b"yz").unwrap();
        assert!(matches!(receive(&there, &mut buffer).unwrap(), (2, None)));
        drop(here);
        assert!(matches!(receive(&there, &mut buffer).unwrap(), (0, None)));
    }
}
