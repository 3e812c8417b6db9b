//! The door for named hosts in the walls of bubblewrap.
//!
//! A command there has a network of its own, in which nobody is. Before it runs, a program of the host
//! listens in that network and hands what it listens with to the proxy outside, through a socket that
//! it was started with; then it becomes the command. Nothing else connects the two.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType, recvmsg,
    socketpair,
};

/// Where the proxy is for the command. Its network is its own, so nobody else is there.
pub(super) const PORT: u16 = 3128;

/// Opens the door, and becomes the command. For the program that is named in
/// [`Sandbox::door`](super::Sandbox::door), which calls it with the arguments that follow those named
/// there. Returns only if that cannot be done.
pub fn open(arguments: impl IntoIterator<Item = OsString>) -> io::Error {
    match try_open(arguments.into_iter()) {
        Ok(never) => never,
        Err(e) => e,
    }
}

#[expect(clippy::disallowed_methods, reason = "the process becomes the command; nothing is spawned")]
fn try_open(mut arguments: impl Iterator<Item = OsString>) -> io::Result<io::Error> {
    let usage = || io::Error::new(io::ErrorKind::InvalidInput, "a descriptor and a command are needed");
    let socket = arguments.next().and_then(|number| number.to_str()?.parse::<i32>().ok());
    let (socket, program) = socket.zip(arguments.next()).ok_or_else(usage)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
    let descriptors = [listener.as_raw_fd()];
    let handed = [ControlMessage::ScmRights(&descriptors)];
    sendmsg::<()>(socket, &[IoSlice::new(b"!")], &handed, MsgFlags::empty(), None)?;
    nix::unistd::close(socket)?;
    drop(listener);
    Ok(Command::new(program).args(arguments).exec())
}

/// Our end of the socket, and the one for the program inside.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// Waits for what the program inside listens with. Ends with the program, if it hands over nothing.
pub(super) fn receive(socket: impl AsFd) -> io::Result<TcpListener> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut handed = RecvAncillaryBuffer::new(&mut space);
    let mut word = [0];
    recvmsg(socket, &mut [IoSliceMut::new(&mut word)], &mut handed, RecvFlags::CMSG_CLOEXEC)?;
    let listeners = handed.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let listener = listeners.flatten().next();
    listener.map(TcpListener::from).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
