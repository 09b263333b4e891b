//! Durable creates: through the server, through the same steps without a queue, and as bare puts.

use std::path::Path;
use std::time::{Duration, Instant};

use switchboard::clock;
use switchboard::store::Store;
use switchboard_core::http::request::{Body, Door, Method, Request};
use switchboard_core::output::{Input, Outcome};
use switchboard_core::service::{Config, Service};
use switchboard_core::store::Change;
use switchboard_core::view::Scene;

use crate::Failed;
use crate::load::{Figures, post, run};
use crate::server::Server;

/// Keys and values of one creation.
pub type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// Steps of one commit where there is no queue: as many as clients at once.
pub const GROUP: usize = 64;

/// The request that is measured: a call, since no plan bounds their number.
pub const BODY: &str = r#"{"phone_number":"+40700000001","assistant_id":1,"variables":{"customer_name":"Ana","note":"Please call before noon."}}"#;

/// Creates through the server, over one connection and over 64.
pub fn served(server: &Server, key: &str, connections: usize) -> Result<Figures, Failed> {
    let key = key.to_owned();
    let figures = run(server, connections, move |_| post(&key, "/user/make_call", BODY))?;
    eprintln!("creates over {connections}: {:.0}/s", figures.rate);
    Ok(figures)
}

/// The same steps in this process, so many a commit; gives the rate and the rows of one creation.
pub fn direct(data: &Path, key: &str, group: usize) -> Result<(f64, Rows), Failed> {
    let (store, service) = (Store::existing(data)?, Service::new(Config::default()));
    let headers =
        vec![("authorization", format!("Bearer {key}").into_bytes()), ("content-type", b"application/json".to_vec())];
    let body = Body::Full(BODY.as_bytes().to_vec());
    let request =
        Request { method: Method::Post, target: "/user/make_call".into(), headers, body, peer: None, door: Door::Main };
    let clock = clock::Clock::default();
    let (began, mut done, mut last) = (Instant::now(), 0_u32, Vec::new());
    while began.elapsed() < Duration::from_secs(3) {
        let transaction = store.begin()?;
        {
            let mut rows = store.rows(&transaction)?;
            for _ in 0..group {
                let changes = {
                    let view = rows.view(None);
                    let scene = Scene { now: clock.now(), seed: clock::seed()?, view: &view };
                    let output =
                        service.step(&Input::Http(&request, &[]), &scene).map_err(|stop| format!("{stop:?}"))?;
                    if !matches!(&output.outcome, Outcome::Reply(reply) if reply.status == 200) {
                        return Err(format!("no call was made: {:?}", output.outcome).into());
                    }
                    output.changes
                };
                rows.apply(&changes)?;
                last = changes;
                done += 1;
            }
        }
        transaction.commit()?;
    }
    let rate = f64::from(done) / began.elapsed().as_secs_f64();
    let puts = last.into_iter().filter_map(|change| match change {
        Change::Put(key, value) => Some((key, value)),
        Change::Delete(_) => None,
    });
    Ok((rate, puts.collect()))
}
