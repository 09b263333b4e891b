//! [`Bucket`]: a server that speaks as much of the S3 protocol as recordings need, on loopback, and fails on request.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is answered.
    None,
    /// It is answered 500.
    Fails,
    /// The connection is closed in the middle of the answer, or without one.
    Breaks,
    /// It is answered after a while.
    Slow,
}

/// What the bucket has, and what came to it.
#[derive(Default)]
pub struct Kept {
    /// Objects by their keys.
    pub objects: BTreeMap<String, Vec<u8>>,
    /// Multipart uploads that are neither complete nor called off: their parts by number.
    pub uploads: BTreeMap<u32, BTreeMap<u32, Vec<u8>>>,
    /// Method and target of each request.
    pub requests: Vec<String>,
    begun: u32,
}

/// Decides about a request by its method and target, and how many like it came before.
type Plan = Box<dyn Fn(&str, &str, usize) -> Fault + Send + Sync>;

/// A running bucket; its threads end with the process.
pub struct Bucket {
    /// Where it listens, as `AWS_ENDPOINT_URL`.
    pub url: String,
    kept: Arc<Mutex<Kept>>,
}

impl Bucket {
    /// Starts an empty bucket.
    pub fn start(plan: impl Fn(&str, &str, usize) -> Fault + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let kept = Arc::new(Mutex::new(Kept::default()));
        let (state, plan) = (Arc::clone(&kept), Arc::new(Box::new(plan) as Plan));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (state, plan) = (Arc::clone(&state), Arc::clone(&plan));
                std::thread::spawn(move || while answer(&stream, &state, &plan).is_some() {});
            }
        });
        Self { url, kept }
    }

    /// Locks what it has.
    pub fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no thread panics")
    }

    /// Returns the environment of a server that uses it.
    pub fn environment(&self) -> [(&'static str, &str); 4] {
        [
            ("AWS_ENDPOINT_URL", &self.url),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "us-east-1"),
        ]
    }
}

/// Answers the next request of a connection; `None` once it is over.
fn answer(stream: &TcpStream, state: &Mutex<Kept>, plan: &Plan) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut words = lines.first()?.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let header = |name: &str| {
        let found = lines.iter().filter_map(|line| line.split_once(": "));
        found.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
    };
    assert!(header("authorization").is_some_and(|signed| signed.starts_with("AWS4-HMAC-SHA256 ")), "{method} unsigned");
    let mut body = vec![0; header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let said = format!("{method} {target}");
    let fault = {
        let mut kept = state.lock().expect("no thread panics");
        let before = kept.requests.iter().filter(|earlier| **earlier == said).count();
        kept.requests.push(said);
        plan(&method, &target, before)
    };
    let (status, headers, body) = match fault {
        Fault::Fails => (500, String::new(), b"<Error><Code>InternalError</Code></Error>".to_vec()),
        Fault::Breaks if method == "PUT" => return None,
        Fault::Slow => {
            std::thread::sleep(Duration::from_millis(500));
            carry_out(state, &method, &target, header("range").as_deref(), body)
        }
        Fault::None | Fault::Breaks => carry_out(state, &method, &target, header("range").as_deref(), body),
    };
    let length =
        if method == "HEAD" && status == 200 { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    let mut out = stream;
    out.write_all(format!("HTTP/1.1 {status} X\r\n{headers}{length}\r\n").as_bytes()).ok()?;
    if fault == Fault::Breaks {
        let _ = out.write_all(&body[..body.len() / 2]);
        return None;
    }
    if method != "HEAD" {
        out.write_all(&body).ok()?;
    }
    Some(())
}

type Answered = (u16, String, Vec<u8>);

fn carry_out(state: &Mutex<Kept>, method: &str, target: &str, range: Option<&str>, body: Vec<u8>) -> Answered {
    const TAGGED: &str = "ETag: \"1\"\r\nLast-Modified: Wed, 21 Oct 2026 07:28:00 GMT\r\n";
    let mut kept = state.lock().expect("no thread panics");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let value = |name: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(known, _)| *known == name).find_map(|(_, value)| value.parse::<u32>().ok())
    };
    let none = || (404, String::new(), b"<Error><Code>NoSuchKey</Code></Error>".to_vec());
    match (method, value("uploadId"), value("partNumber")) {
        ("PUT", Some(upload), Some(part)) => match kept.uploads.get_mut(&upload) {
            Some(parts) => {
                parts.insert(part, body);
                (200, TAGGED.into(), Vec::new())
            }
            None => none(),
        },
        ("PUT", ..) => {
            kept.objects.insert(path.to_owned(), body);
            (200, TAGGED.into(), Vec::new())
        }
        ("POST", Some(upload), _) => match kept.uploads.remove(&upload) {
            Some(parts) => {
                kept.objects.insert(path.to_owned(), parts.into_values().collect::<Vec<_>>().concat());
                let done = "<CompleteMultipartUploadResult><ETag>\"1\"</ETag></CompleteMultipartUploadResult>";
                (200, String::new(), done.into())
            }
            None => none(),
        },
        ("POST", ..) => {
            kept.begun += 1;
            let id = kept.begun;
            kept.uploads.insert(id, BTreeMap::new());
            let begun = "<InitiateMultipartUploadResult><UploadId>";
            (200, String::new(), format!("{begun}{id}</UploadId></InitiateMultipartUploadResult>").into_bytes())
        }
        ("DELETE", Some(upload), _) => {
            kept.uploads.remove(&upload);
            (204, String::new(), Vec::new())
        }
        ("DELETE", ..) => {
            kept.objects.remove(path);
            (204, String::new(), Vec::new())
        }
        ("HEAD", ..) => match kept.objects.get(path) {
            Some(object) => (200, format!("{TAGGED}Content-Length: {}\r\n", object.len()), Vec::new()),
            None => (404, String::new(), Vec::new()),
        },
        _ => match kept.objects.get(path) {
            Some(object) => part(object, range, TAGGED),
            None => none(),
        },
    }
}

/// Returns the part of an object that a `Range` of both ends names.
fn part(object: &[u8], range: Option<&str>, tagged: &str) -> Answered {
    let ends = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    let Some((from, to)) = ends.and_then(|(from, to)| Some((from.parse().ok()?, to.parse::<usize>().ok()?))) else {
        return (200, tagged.into(), object.to_vec());
    };
    let from: usize = from;
    if from >= object.len() {
        return (416, String::new(), Vec::new());
    }
    let to = to.min(object.len() - 1);
    (206, format!("{tagged}Content-Range: bytes {from}-{to}/{}\r\n", object.len()), object[from..=to].to_vec())
}
