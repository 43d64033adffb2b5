//! A receiver of webhooks in this process: answers 200, and notes when what arrived.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use anyhow::{Context, Result};

use crate::matching::posts::now_ms;

/// A running receiver, which ends with this process.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) address: SocketAddr,
    received: Arc<Mutex<Received>>,
}

/// What arrived.
#[derive(Debug, Default)]
struct Received {
    count: usize,
    /// From each job's posting to its arrival, in milliseconds.
    delays_ms: Vec<i64>,
    first: Option<Sample>,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: web::Bytes,
}

impl Receiver {
    pub(super) fn start() -> Result<Self> {
        let received = Arc::new(Mutex::new(Received::default()));
        let notes = Arc::clone(&received);
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                let server = HttpServer::new(move || {
                    let notes = Arc::clone(&notes);
                    App::new().default_service(web::to(move |request: HttpRequest, body: web::Bytes| {
                        note(&mut locked(&notes), &request, body);
                        async { HttpResponse::Ok().finish() }
                    }))
                })
                .workers(1)
                .disable_signals()
                .bind("127.0.0.1:0")?;
                // Nobody waits for the address if this process is about to end.
                let _ = tell.send(server.addrs().first().copied());
                server.run().await
            })
        });
        let address = told.recv()?.context("the receiver did not start")?;
        Ok(Self { address, received })
    }

    /// How many webhooks arrived.
    pub(super) fn count(&self) -> usize {
        locked(&self.received).count
    }

    /// Takes the delays that were noted since the last call.
    pub(super) fn take_delays_ms(&self) -> Vec<i64> {
        std::mem::take(&mut locked(&self.received).delays_ms)
    }

    /// The first webhook.
    pub(super) fn sample(&self) -> Result<Sample> {
        let first = locked(&self.received).first.clone();
        first.context("no webhook arrived")
    }
}

fn locked(received: &Mutex<Received>) -> MutexGuard<'_, Received> {
    received.lock().unwrap_or_else(PoisonError::into_inner)
}

fn note(received: &mut Received, request: &HttpRequest, body: web::Bytes) {
    received.count += 1;
    received
        .delays_ms
        .extend(posted_at(&body).map(|posted_at| now_ms() - posted_at));
    received.first.get_or_insert_with(|| {
        let headers = request.headers().iter().filter_map(|(name, value)| {
            let value = value.to_str().ok()?;
            Some((name.as_str().to_owned(), value.to_owned()))
        });
        Sample {
            headers: headers.collect(),
            body,
        }
    });
}

/// When the job was posted that the event tells of, in UNIX milliseconds: the lead's `datetime`.
fn posted_at(body: &[u8]) -> Option<i64> {
    let name = br#""datetime":"#;
    let at = body.windows(name.len()).position(|window| window == name)? + name.len();
    let digits = body[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&body[at..at + digits]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::posted_at;

    #[test]
    fn a_job_s_posting_time_is_found_in_its_event() {
        assert_eq!(
            posted_at(br#"{"createdAt":1,"data":{"lead":{"datetime":1795174490015,"x":1}}}"#),
            Some(1_795_174_490_015)
        );
        assert_eq!(posted_at(br#"{"data":{}}"#), None);
        assert_eq!(posted_at(br#"{"datetime":null}"#), None);
    }
}
