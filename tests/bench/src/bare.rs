//! The baselines: hyper that answers with fixed bytes, and redb that commits fixed bytes.

use std::convert::Infallible;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{CONTENT_LENGTH, DATE, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use redb::{Database, TableDefinition};
use switchboard_core::store::Change;

use crate::Failed;
use crate::load::head_end;

const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");

/// Prints its address, then answers every request with the given response, whatever is asked.
pub fn serve(mut answer: impl Read) -> Result<(), Failed> {
    let mut bytes = Vec::new();
    answer.read_to_end(&mut bytes)?;
    let (headers, body) = parts(&bytes)?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let (headers, body) = (headers.clone(), body.clone());
            tokio::spawn(async move {
                let service = service_fn(move |_| {
                    let mut response = Response::new(Full::new(body.clone()));
                    response.headers_mut().clone_from(&headers);
                    async move { Ok::<_, Infallible>(response) }
                });
                let mut builder = hyper::server::conn::http1::Builder::new();
                let _ = builder.timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}

/// Splits a response into the headers that hyper does not write itself, and its body.
fn parts(answer: &[u8]) -> Result<(HeaderMap, Bytes), Failed> {
    let end = head_end(answer).ok_or("no end of the head")?;
    let mut headers = HeaderMap::new();
    for line in std::str::from_utf8(&answer[..end])?.lines().skip(1) {
        let (name, value) = line.split_once(": ").ok_or("a header without a value")?;
        headers.append(HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_str(value)?);
    }
    headers.remove(CONTENT_LENGTH);
    headers.remove(DATE);
    Ok((headers, Bytes::copy_from_slice(&answer[end + 4..])))
}

/// Returns the longest sync of a small write within `span`, while nothing else runs.
pub fn longest_sync(folder: &Path, span: Duration) -> Result<Duration, Failed> {
    let mut file = std::fs::File::create(folder.join("synced"))?;
    let (bytes, began, mut longest) = (vec![7; 64 << 10], Instant::now(), Duration::ZERO);
    while began.elapsed() < span {
        file.rewind()?;
        file.write_all(&bytes)?;
        let begin = Instant::now();
        file.sync_data()?;
        longest = longest.max(begin.elapsed());
    }
    Ok(longest)
}

/// Returns the durable commits per second of redb alone, with quick repair, which makes the next opening fast.
pub fn puts(folder: &Path, groups: &[Vec<Change>]) -> Result<f64, Failed> {
    let path = folder.join("bare.redb");
    let database = Database::create(&path)?;
    let began = Instant::now();
    for group in groups {
        let mut transaction = database.begin_write()?;
        transaction.set_quick_repair(true);
        {
            let mut table = transaction.open_table(ROWS)?;
            for change in group {
                match change {
                    Change::Put(key, value) => drop(table.insert(key.as_slice(), value.as_slice())?),
                    Change::Delete(key) => drop(table.remove(key.as_slice())?),
                }
            }
        }
        transaction.commit()?;
    }
    let rate = f64::from(u32::try_from(groups.len())?) / began.elapsed().as_secs_f64();
    drop(database);
    std::fs::remove_file(path)?;
    Ok(rate)
}
