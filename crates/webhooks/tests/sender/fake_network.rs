//! Stand-ins for DNS and for what lies between the sender and a receiver.

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bidloop_webhooks::{Network, OpenedConnection};
use tokio::net::TcpStream;

/// A public address; nothing is ever sent to it.
pub(crate) const PUBLIC: &str = "93.184.215.14";
/// Another one.
pub(crate) const OTHER_PUBLIC: &str = "2606:2800:21f:cb07:6820:80da:af6b:8b2c";

/// What a connection attempt to an address comes to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Route {
    /// Leads to the receiver, and says so.
    To(SocketAddr),
    /// Leads to the receiver, and looks as if it led to the address asked for.
    Disguised(SocketAddr),
    /// The connection is refused.
    Refused,
    /// Nothing ever comes back.
    Silent,
}

/// A network in which every name has the scripted addresses, and every address the scripted route.
#[derive(Debug)]
pub(crate) struct FakeNetwork {
    /// The answers to the look-ups to come; `None` never arrives.
    answers: Mutex<VecDeque<Option<Vec<IpAddr>>>>,
    routes: Vec<(IpAddr, Route)>,
    lookups: Mutex<Vec<String>>,
    connects: Mutex<Vec<IpAddr>>,
}

impl FakeNetwork {
    /// `answers`: what each look-up in turn is answered with.
    pub(crate) fn new(answers: &[&[&str]], routes: &[(&str, Route)]) -> Arc<Self> {
        let addresses = |texts: &&[&str]| Some(texts.iter().map(|text| text.parse().unwrap()).collect());
        Arc::new(Self {
            answers: Mutex::new(answers.iter().map(addresses).collect()),
            routes: routes
                .iter()
                .map(|(address, route)| (address.parse().unwrap(), *route))
                .collect(),
            lookups: Mutex::default(),
            connects: Mutex::default(),
        })
    }

    /// A network whose DNS never answers.
    pub(crate) fn without_dns() -> Arc<Self> {
        let network = Self::new(&[], &[]);
        network.answers.lock().unwrap().push_back(None);
        network
    }

    /// The names looked up so far.
    pub(crate) fn lookups(&self) -> Vec<String> {
        self.lookups.lock().unwrap().clone()
    }

    /// The addresses that connections were asked for so far.
    pub(crate) fn connects(&self) -> Vec<String> {
        let connects = self.connects.lock().unwrap();
        connects.iter().map(IpAddr::to_string).collect()
    }
}

#[async_trait]
impl Network for FakeNetwork {
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        self.lookups.lock().unwrap().push(host.to_owned());
        let answer = self.answers.lock().unwrap().pop_front();
        match answer {
            Some(Some(addresses)) => Ok(addresses.iter().map(|ip| (*ip, port).into()).collect()),
            Some(None) => pending().await,
            None => Err(io::Error::other("no such name")),
        }
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<OpenedConnection> {
        self.connects.lock().unwrap().push(address.ip());
        let route = self.routes.iter().find(|(from, _)| *from == address.ip());
        match route.map(|(_, route)| *route) {
            Some(Route::To(receiver)) => {
                let stream = TcpStream::connect(receiver).await?;
                let peer = stream.peer_addr()?;
                Ok(OpenedConnection { stream, peer })
            }
            Some(Route::Disguised(receiver)) => {
                let stream = TcpStream::connect(receiver).await?;
                Ok(OpenedConnection {
                    stream,
                    peer: address,
                })
            }
            Some(Route::Refused) => Err(io::ErrorKind::ConnectionRefused.into()),
            Some(Route::Silent) => pending().await,
            None => Err(io::Error::other(format!(
                "the test expects no connection to {address}"
            ))),
        }
    }
}
