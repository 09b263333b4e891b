//! Bodies that become objects: passed on as they come, within the budgets and at the rate of every body.

use std::sync::Arc;

use switchboard_core::http::refusal::server_error;
use switchboard_core::http::reply::Reply;
use switchboard_core::http::request::Request;
use switchboard_core::object::{ObjectUpload, StoredObject, UploadError};
use switchboard_core::seed::Seed;
use tokio::time::{Instant, timeout, timeout_at};

use super::incoming::{BODY, BODY_RATE, Coming, TURN};
use crate::host::Host;
use crate::room::{Held, Holder, UsedUp};
use crate::vault::Vault;

/// Executes a request whose body becomes an object of an account.
pub async fn carry(host: &Arc<Host>, request: Request, body: Coming, seed: Seed, account: u32) -> Reply {
    let (host, target) = (Arc::clone(host), request.target.clone());
    // A task of its own: an upload whose caller goes away is called off, not forgotten.
    let done = tokio::spawn(async move { upload(&host, &request, body, seed, Holder::Account(account)).await });
    done.await.unwrap_or_else(|_| server_error(&target, ""))
}

async fn upload(host: &Arc<Host>, request: &Request, mut body: Coming, seed: Seed, holder: Holder) -> Reply {
    let Some(vault) = host.vault.clone() else { return server_error(&request.target, "") };
    let _held = match admit(host, &vault, holder, &mut body).await {
        Ok(held) => held,
        Err(full) => {
            body.drain().await;
            return host.refused(request, full, &seed);
        }
    };
    let stored = match host.begin_upload(request, seed).await {
        Ok(upload) => receive(&vault, &upload, &mut body).await,
        Err(reply) => {
            body.drain().await;
            return reply;
        }
    };
    if stored.is_err() {
        body.drain().await;
    }
    host.end_upload(request, stored, seed).await
}

/// Takes a place among the uploads, waiting for one, and the memory that an upload may need.
async fn admit(host: &Host, vault: &Vault, holder: Holder, body: &mut Coming) -> Result<[Held; 2], UsedUp> {
    let rooms = &host.rooms;
    // Waiting for a place is not the sender's fault: the connection does not count as idle.
    body.wait();
    let turn = timeout(TURN, rooms.recording_uploads.take(holder)).await;
    let place = turn.unwrap_or_else(|_| Err(rooms.recording_uploads.waited_too_long(holder)))?;
    Ok([place, rooms.bodies.try_take(holder, vault.upload_bytes())?])
}

/// Makes the body an object. A stretch that comes too slowly ends it, as one that breaks off does.
async fn receive(vault: &Vault, upload: &ObjectUpload, body: &mut Coming) -> Result<StoredObject, UploadError> {
    let mut writer = vault.begin(upload);
    let written = async {
        writer.look(body.declared() as u64)?;
        let (mut until, mut wanted, mut come) = (Instant::now() + BODY, BODY.as_secs() * BODY_RATE, 0);
        loop {
            let data = match timeout_at(until, body.next()).await {
                Ok(Some(Ok(data))) => data,
                Ok(None) => return Ok(()),
                Ok(Some(Err(_))) | Err(_) => return Err(UploadError::Cut),
            };
            come += data.len() as u64;
            let began = Instant::now();
            writer.write(&data).await?;
            // The time that what keeps objects takes is not the sender's.
            until += began.elapsed();
            if come >= wanted {
                wanted = come + BODY.as_secs() * BODY_RATE;
                until = Instant::now() + BODY;
            }
        }
    }
    .await;
    match written {
        Ok(()) => writer.finish().await,
        Err(error) => {
            writer.abort().await;
            Err(error)
        }
    }
}
