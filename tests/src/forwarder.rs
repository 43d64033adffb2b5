//! A TCP forwarder that can be cut: how a server goes away and comes back without anybody stopping it. It can also keep
//! answers back, so that a request is served and its sender does not know.

use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Forwards what connects to its address until it is cut.
#[derive(Debug)]
pub struct Forwarder {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    cut: bool,
    keeps_answers: bool,
    streams: Vec<TcpStream>,
}

impl Forwarder {
    /// Listens on `address` and forwards to `target`.
    pub fn start(address: SocketAddr, target: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let state: Arc<Mutex<State>> = Arc::default();
        let (shared, target) = (Arc::clone(&state), target.to_owned());
        let accepting = std::thread::spawn(move || {
            for from in listener.incoming().map_while(Result::ok) {
                let mut state = shared.lock().unwrap();
                if state.cut {
                    return;
                }
                let Ok(to) = TcpStream::connect(&target) else {
                    continue;
                };
                let both_ways = [(&from, &to), (&to, &from)];
                let ways = if state.keeps_answers { 1 } else { 2 };
                for (from, to) in both_ways.into_iter().take(ways) {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    std::thread::spawn(move || copy(from, to));
                }
                state.streams.extend([from, to]);
            }
        });
        Self {
            address,
            state,
            accepting: Some(accepting),
        }
    }

    /// Passes on no answer on connections that are made from now on.
    pub fn keep_answers(&self) {
        self.state.lock().unwrap().keeps_answers = true;
    }

    /// Cuts every connection and refuses further ones.
    pub fn cut(mut self) {
        self.end();
    }

    fn end(&mut self) {
        {
            let mut state = self.state.lock().unwrap();
            state.cut = true;
            for stream in state.streams.drain(..) {
                // The other side may have closed it already.
                let _closed = stream.shutdown(Shutdown::Both);
            }
        }
        if let Some(accepting) = self.accepting.take() {
            // Wakes the accepting thread, so that it sees the cut and closes the listener.
            let _woken = TcpStream::connect(self.address);
            accepting.join().unwrap();
        }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.end();
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let _ended = std::io::copy(&mut from, &mut to);
    let _ended = to.flush();
    let _ended = to.shutdown(Shutdown::Both);
}
