//! A bare client that posts a webhook's bytes again and again, each over a connection of its own, as the service does.

use std::time::Instant;

use anyhow::{Result, ensure};
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::receiver::{Receiver, Sample};
use crate::process;
use crate::report::{Report, Row};

const REQUESTS: usize = 10_000;

/// Reports the client's CPU for one webhook.
pub(super) fn measure(receiver: &Receiver, report: &mut Report) -> Result<()> {
    let sample = receiver.sample()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let before = process::thread_cpu_seconds();
    let started = Instant::now();
    runtime.block_on(async {
        for _ in 0..REQUESTS {
            post(receiver, &sample).await?;
        }
        anyhow::Ok(())
    })?;
    let rate = REQUESTS as f64 / started.elapsed().as_secs_f64();
    let cpu = process::thread_cpu_seconds().zip(before);
    let cpu = cpu.map(|(after, before)| (after - before) * 1e6 / REQUESTS as f64);
    let row = match cpu {
        Some(cpu) => Row::new("floor: a bare client's CPU for a webhook", cpu, "µs"),
        None => Row::failed("floor", "this system does not tell a thread's CPU"),
    };
    report.add(row.with("/s", rate).with("body bytes", sample.body.len() as f64));
    Ok(())
}

async fn post(receiver: &Receiver, sample: &Sample) -> Result<()> {
    let stream = TcpStream::connect(receiver.address).await?;
    let (mut client, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let mut request = Request::post("/0");
    for (name, value) in &sample.headers {
        request = request.header(name, value);
    }
    let answer = client
        .send_request(request.body(Full::<Bytes>::from(sample.body.clone()))?)
        .await?;
    ensure!(answer.status() == 200, "answered {}", answer.status());
    answer.into_body().collect().await?;
    drop(client);
    connection.await??;
    Ok(())
}
