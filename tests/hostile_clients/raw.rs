//! Bytes over a socket, and nothing that tidies them up.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// Connects from an address of this machine.
pub(crate) async fn connect_from(from: Ipv4Addr, to: SocketAddr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind(SocketAddr::from((from, 0))).ok()?;
    socket.connect(to).await.ok()
}

/// Sends this, says that nothing more comes, and reads to the end.
pub(crate) async fn exchange(to: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(to).await.expect("it listens");
    // The server may close while it is still being sent to.
    let _cut = stream.write_all(request).await;
    let _cut = stream.shutdown().await;
    read_to_end(&mut stream).await
}

async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _reset = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// Sends the beginning, then one byte after another until the server has had enough; what it said.
pub(crate) async fn dribble(to: SocketAddr, first: String) -> String {
    let stream = TcpStream::connect(to).await.expect("it listens");
    let (mut reader, mut writer) = stream.into_split();
    let feeding = tokio::spawn(async move {
        let mut piece = first.as_bytes();
        while writer.write_all(piece).await.is_ok() {
            piece = b"x";
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    });
    let mut answer = Vec::new();
    let _reset = reader.read_to_end(&mut answer).await;
    feeding.abort();
    String::from_utf8_lossy(&answer).into_owned()
}
