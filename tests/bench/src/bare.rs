//! The baselines: hyper that answers fixed bytes, redb that commits fixed bytes.

use std::convert::Infallible;
use std::path::Path;
use std::time::Instant;

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use redb::{Database, TableDefinition};
use switchboard_core::store::Change;

use crate::Failed;

const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");

/// Answers every request with so many bytes; prints its address first.
pub fn serve(bytes: usize) -> Result<(), Failed> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        let body = Bytes::from(vec![b'x'; bytes]);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let body = body.clone();
            tokio::spawn(async move {
                let service = service_fn(move |_| {
                    let body = body.clone();
                    async move {
                        let mut response = Response::new(Full::new(body));
                        response
                            .headers_mut()
                            .insert("content-type", hyper::header::HeaderValue::from_static("application/json"));
                        Ok::<_, Infallible>(response)
                    }
                });
                let mut builder = hyper::server::conn::http1::Builder::new();
                let _ = builder.timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}

/// Creations a second that redb takes when each commit holds `group` of them, the very rows of `creations`: committed
/// as the store does, or in one phase and without what makes the next opening quick.
pub fn puts(folder: &Path, creations: &[Vec<Change>], group: u32, careful: bool) -> Result<f64, Failed> {
    let path = folder.join("bare.redb");
    let database = Database::create(&path)?;
    let began = Instant::now();
    for group in creations.chunks(group as usize) {
        let mut transaction = database.begin_write()?;
        transaction.set_quick_repair(careful);
        {
            let mut table = transaction.open_table(ROWS)?;
            for change in group.iter().flatten() {
                match change {
                    Change::Put(key, value) => drop(table.insert(key.as_slice(), value.as_slice())?),
                    Change::Delete(key) => drop(table.remove(key.as_slice())?),
                }
            }
        }
        transaction.commit()?;
    }
    let rate = f64::from(u32::try_from(creations.len())?) / began.elapsed().as_secs_f64();
    drop(database);
    std::fs::remove_file(path)?;
    Ok(rate)
}
