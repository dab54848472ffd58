//! A whole HTTP request, as a server of the tests reads it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

/// The next request that asks something of a model. A server of the tests has no list of models to be looked at.
pub(crate) fn next_request(listener: &TcpListener) -> Option<(TcpStream, String)> {
    loop {
        let (mut stream, _) = listener.accept().ok()?;
        let request = read_request(&mut stream);
        if !request.starts_with("GET ") {
            return Some((stream, request));
        }
        let answer = b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        // Whoever looked may have seen enough.
        let _hung_up = stream.write_all(answer);
    }
}

/// The request, or what came of it before the client hung up.
fn read_request(stream: &mut TcpStream) -> String {
    let (mut bytes, mut buffer) = (vec![], [0; 4096]);
    while !is_whole(&bytes) {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, _)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    bytes.len() >= head.len() + 4 + length.unwrap_or(0)
}
