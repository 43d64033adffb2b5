//! Nothing that a client sends brings the service down: no 5xx, no hang, no panic, and others are served meanwhile.

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use acceptance::api::read_answer;
use acceptance::document::{EXTERNAL, KEY, campaign};
use acceptance::world::{id, path};
use acceptance::{Kind, Service, World, posts};

on_both_databases!(
    no_bytes_bring_the_service_down,
    slow_and_silent_clients_delay_nobody_else,
);

/// A connection that is neither answered nor closed for so long hangs.
const HANG: Duration = Duration::from_secs(20);

fn no_bytes_bring_the_service_down(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    let lead = id(&leads[0]);
    let mut all = random_bytes();
    all.extend(malformed_heads());
    all.extend(wrong_lengths(&path(EXTERNAL, lead, "bid")));
    all.extend(hostile_bodies(lead));
    all.extend(hostile_uploads(&path(EXTERNAL, lead, "attachments")));
    for (at, bytes) in all.iter().enumerate() {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
        let status = exchange(&service, bytes, &format!("case {at}: {shown}"));
        assert!(
            status.is_none_or(|status| status < 500),
            "case {at} was answered {status:?}: {shown}"
        );
        if at % 20 == 0 {
            service
                .api()
                .get(&format!("/v1/campaigns/{EXTERNAL}/leads"))
                .expect(200);
        }
    }
    let lead = &service
        .api()
        .get(&format!("/v1/campaigns/{EXTERNAL}/leads"))
        .expect(200)
        .json()["data"][0];
    assert_eq!(lead["status"], "new", "none of it was a bid");
    assert!(!service.log().contains("panicked"), "{}", service.log());
    assert!(service.stop().success());
}

/// Sends the bytes and nothing more; the status of the answer, if there was one.
fn exchange(service: &Service, bytes: &[u8], shown: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(service.address()).unwrap();
    stream.set_read_timeout(Some(HANG)).unwrap();
    stream.set_write_timeout(Some(HANG)).unwrap();
    // It may close before it has read everything.
    let _refused = stream
        .write_all(bytes)
        .and_then(|()| stream.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        let hangs = matches!(
            error.kind(),
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
        );
        assert!(!hangs, "neither answered nor closed: {shown}");
    }
    let status = answer.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    std::str::from_utf8(status).ok()?.parse().ok()
}

fn random_bytes() -> Vec<Vec<u8>> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..60)
        .map(|_| {
            let length = next() % 2_000;
            (0..length).map(|_| next().to_le_bytes()[0]).collect()
        })
        .collect()
}

fn malformed_heads() -> Vec<Vec<u8>> {
    let list = format!("/v1/campaigns/{EXTERNAL}/leads");
    let long = "a".repeat(200_000);
    let mut heads = vec![
        String::new(),
        "\r\n\r\n".to_owned(),
        "GET\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\n\r\n".to_owned(),
        format!("GET {list} HTTP/1.0\r\n\r\n"),
        format!("{long} {list} HTTP/1.1\r\nHost: x\r\n\r\n"),
        format!("GET /{long} HTTP/1.1\r\nHost: x\r\n\r\n"),
        format!("GET {list}?limit={long} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\r\n"),
        format!("GET {list} HTTP/1.1\r\nHost: x\r\nX-Long: {long}\r\n\r\n"),
        format!("GET {list} HTTP/1.1\r\nHost: x\r\n: nameless\r\n\r\n"),
        format!("GET {list} HTTP/1.1\r\nHost: x\r\nNo colon\r\n\r\n"),
        format!("GET {list} HTTP/1.1\nHost: x\nAuthorization: Bearer {KEY}\n\n"),
        format!("GET {list} HTTP/1.1\r\nHost: x\r\nHost: y\r\nAuthorization: Bearer {KEY}\r\n\r\n"),
        format!("GET {list} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer\r\n\r\n"),
        format!("GET {list} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \u{e9}\r\n\r\n"),
        format!(
            "GET {list} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nAuthorization: Bearer lk_\r\n\r\n"
        ),
        format!("GET http://elsewhere.test{list} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\r\n"),
        format!("GET {list} HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
        format!("GET {list} HTTP/1.1\r\nHost: x\r\nExpect: 200-maybe\r\n\r\n"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
        "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
    ];
    for target in [
        "/v1/campaigns/%00/leads",
        "/v1/campaigns/%ff%fe/leads",
        "/v1/campaigns/../../leads",
        "/v1/campaigns/%2e%2e/leads",
        "/v1/campaigns/a%2Fb/leads",
        "//",
        "/v1/campaigns//leads",
        "/v1/campaigns/%F0%9F%A6%80/leads",
        "/v1/campaigns/'%20OR%201=1--/leads",
        "/v1/campaigns/camp_ext/leads/%00/bid",
        "/v1/campaigns/camp_ext/leads?limit=%00&offset=%ff",
        "/v1/campaigns/camp_ext/leads?offset=99999999999999999999&limit=-1",
        "/v1/campaigns/camp_ext/leads?offset=9223372036854775807&limit=9223372036854775807",
    ] {
        for method in ["GET", "POST"] {
            heads.push(format!(
                "{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {KEY}\r\n\r\n"
            ));
        }
    }
    let headers = "X-Many: 1\r\n".repeat(2_000);
    heads.push(format!("GET {list} HTTP/1.1\r\nHost: x\r\n{headers}\r\n"));
    heads.into_iter().map(String::into_bytes).collect()
}

fn wrong_lengths(path: &str) -> Vec<Vec<u8>> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\n"
    );
    [
        "Content-Length: 500\r\n\r\n{\"coverLetter\": \"x\"",
        "Content-Length: 5\r\n\r\n{\"coverLetter\": \"x\", \"questionAnswerPairs\": []}",
        "Content-Length: -1\r\n\r\n{}",
        "Content-Length: +2\r\n\r\n{}",
        "Content-Length: 99999999999999999999999\r\n\r\n{}",
        "Content-Length: 18446744073709551615\r\n\r\n{}",
        "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
        "Content-Length: two\r\n\r\n{}",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}",
        "Transfer-Encoding: chunked\r\n\r\n2\r\n{}",
        "Transfer-Encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n",
        "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "Transfer-Encoding: sideways\r\n\r\n{}",
        "Content-Length: 2\r\nContent-Encoding: gzip\r\n\r\n{}",
        "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n{}",
        "\r\n{}",
    ]
    .iter()
    .map(|rest| format!("{head}{rest}").into_bytes())
    .collect()
}

fn hostile_bodies(lead: &str) -> Vec<Vec<u8>> {
    let nested = |open: &str, count: usize| open.repeat(count).into_bytes();
    let bodies: Vec<Vec<u8>> = vec![
        nested("[", 100_000),
        nested("{\"a\":", 100_000),
        b"\xff\xfe{}".to_vec(),
        b"{\"coverLetter\": \"\xff\", \"questionAnswerPairs\": []}".to_vec(),
        b"{\"coverLetter\": \"\\ud800\", \"questionAnswerPairs\": []}".to_vec(),
        b"{\"coverLetter\": \" \\u0000 \", \"questionAnswerPairs\": [], \"x\": 0}".to_vec(),
        b"{\"coverLetter\": \"a\", \"coverLetter\": \"b\", \"questionAnswerPairs\": []}".to_vec(),
        b"{\"coverLetter\": \"a\", \"questionAnswerPairs\": [], \"biddingConfig\": {\"minBoost\": 1e999}}".to_vec(),
        b"{\"coverLetter\": \"a\", \"questionAnswerPairs\": [], \"biddingConfig\": {\"minBoost\": 99999999999999999999}}".to_vec(),
        b"{\"coverLetter\": \"a\", \"questionAnswerPairs\": [], \"biddingConfig\": {\"biddingFixedHourlyRate\": 1e300}}".to_vec(),
        b"{\"coverLetter\": \"a\", \"questionAnswerPairs\": {}}".to_vec(),
        b"null".to_vec(),
        b"{} {}".to_vec(),
        vec![b' '; 3 * 1_048_576],
        vec![b'x'; 4 * 1_048_576],
    ];
    let mut requests = Vec::new();
    for operation in ["bid", "reject"] {
        for body in &bodies {
            // An empty rejection is a right one: the lead is to stay as it is.
            if operation == "reject" && body.iter().all(|byte| *byte == b' ') {
                continue;
            }
            let mut request = format!(
                "POST {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                path(EXTERNAL, lead, operation),
                body.len()
            )
            .into_bytes();
            request.extend_from_slice(body);
            requests.push(request);
        }
    }
    requests
}

fn hostile_uploads(path: &str) -> Vec<Vec<u8>> {
    let part = "Content-Disposition: form-data; name=\"files\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nx";
    let many: String = format!("--b\r\n{part}\r\n").repeat(200);
    let long_name = "n".repeat(100_000);
    [
        ("multipart/form-data", format!("--b\r\n{part}\r\n--b--\r\n")),
        ("multipart/form-data; boundary=", format!("--b\r\n{part}\r\n--b--\r\n")),
        ("multipart/form-data; boundary=b", String::new()),
        ("multipart/form-data; boundary=b", "--b--\r\n".to_owned()),
        ("multipart/form-data; boundary=b", format!("--b\r\n{part}")),
        ("multipart/form-data; boundary=b", "--b\r\n\r\n\r\n--b--\r\n".to_owned()),
        ("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"files\"\r\n\r\nx\r\n--b--\r\n".to_owned()),
        ("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"../../etc/passwd\"\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--\r\n".to_owned()),
        ("multipart/form-data; boundary=b", format!("--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"{long_name}.txt\"\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--\r\n")),
        ("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"\0.txt\"\r\nContent-Type: text/plain\r\n\r\n\0\r\n--b--\r\n".to_owned()),
        ("multipart/form-data; boundary=b", format!("--b\r\nX: {long_name}\r\n{part}\r\n--b--\r\n")),
        ("multipart/form-data; boundary=b", format!("{many}--b--\r\n")),
        ("multipart/form-data; boundary=b", "x".repeat(500_000)),
        ("multipart/mixed; boundary=b", format!("--b\r\n{part}\r\n--b--\r\n")),
        ("text/plain", "x".to_owned()),
    ]
    .iter()
    .map(|(kind, body)| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {KEY}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    })
    .collect()
}

fn slow_and_silent_clients_delay_nobody_else(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    let bid = path(EXTERNAL, id(&leads[0]), "bid");
    let unfinished = [
        String::new(),
        "GET /v1".to_owned(),
        "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ".to_owned(),
        format!(
            "POST {bid} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"
        ),
        format!(
            "POST {bid} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n"
        ),
        format!(
            "POST {} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 100000\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nx",
            path(EXTERNAL, id(&leads[0]), "attachments")
        ),
    ];
    let mut slow = Vec::new();
    for _ in 0..30 {
        for beginning in &unfinished {
            let mut stream = TcpStream::connect(service.address()).unwrap();
            stream.write_all(beginning.as_bytes()).unwrap();
            slow.push(stream);
        }
    }
    for drop in 0..20 {
        for stream in &mut slow {
            // The service may have given up on it.
            let _gone = stream.write_all(b"x");
        }
        let started = Instant::now();
        service
            .api()
            .get(&format!("/v1/campaigns/{EXTERNAL}/leads"))
            .expect(200);
        let took = started.elapsed();
        assert!(
            took < Duration::from_secs(2),
            "with slow clients at drop {drop}: {took:?}"
        );
    }
    // An answer to a client that reads none of it keeps nobody waiting either.
    let request = format!(
        "GET /v1/campaigns/{EXTERNAL}/leads HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\r\n"
    );
    let mut unread = TcpStream::connect(service.address()).unwrap();
    unread
        .set_write_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let _stuck = unread.write_all(request.repeat(2_000).as_bytes());
    service.api().get("/healthz").expect(200);
    let mut pipelined = TcpStream::connect(service.address()).unwrap();
    pipelined.write_all(request.repeat(20).as_bytes()).unwrap();
    let mut answers = BufReader::new(pipelined);
    for _ in 0..20 {
        assert_eq!(read_answer(&mut answers).unwrap().0.status, 200);
    }
    drop((slow, unread));
    assert!(!service.log().contains("panicked"), "{}", service.log());
    assert!(service.stop().success());
}
