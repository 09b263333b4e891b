//! Taking the recording of a call from its engine, in two runs: the first notes which object it is to be, and has the
//! host make it of the body; the second makes it the recording of the call. A later upload replaces an earlier one.

use super::link::{signed, stored_url};
use super::rows::{
    AudioType, CallObject, ObjectState, RecordingAccount, RecordingNote, RecordingRow, UploadedRecording, encoded,
};
use super::sweep::lapse;
use crate::account::plan;
use crate::call::CallRow;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::id;
use crate::job::{self, Task};
use crate::key::Space;
use crate::limits::{AFTERMATH_SECONDS, FULL_SECONDS, RECORDING_BYTES_MAX, RECORDING_LINK_DAYS, RECORDING_UPLOADS_MAX};
use crate::object::{ObjectUpload, StoredObject, UploadError};
use crate::record::{Choice, Errors, Rest};
use crate::store::Scope;
use crate::view::Stop;

/// Media types of recordings.
pub static MEDIA: [&str; 3] = [AudioType::Wav.word(), AudioType::Ogg.word(), AudioType::Mpeg.word()];

const DELETED: &str = "The recording of this call was deleted.";
const LATE: &str = "The call ended more than a day ago: its recording is not taken any more.";
const MANY: &str = "Too many recordings of this call are being uploaded.";
const LAPSED: &str = "The upload took too long.";
const CUT: &str = "The request body broke off.";
const UNREACHABLE: &str = "The recording could not be stored: what keeps recordings did not answer, or refused it.";
const EMPTY: &str = "field must not be empty.";

/// `PUT /engine/calls/{id}/recording`, of a call that the engine has; `records` says whether its assistant does.
pub fn take(ctx: &Ctx<'_>, account: Scope<'_>, mut call: CallRow, records: bool) -> Handled {
    let upload = u64::from_be_bytes(*ctx.seed.derive("recording").first_chunk().expect("32 bytes have eight"));
    let Some(stored) = ctx.stored_body() else {
        let object = begin(ctx, account, &call, records, upload)?;
        let Space::Account(number) = account.space() else { unreachable!("only accounts have calls") };
        let (name, key) = (object.name(account.space()), object.key()?);
        return Err(Halt::Store(ObjectUpload { name, key, account: number, bytes_max: RECORDING_BYTES_MAX }));
    };
    let kept = stored.map_err(|error| refusal(error).into());
    match kept.and_then(|stored| keep(ctx, account, &mut call, records, (upload, stored))) {
        Err(Halt::Refuse(refusal)) => {
            // The first run is committed: what it noted is taken back with the refusal.
            give_up(ctx, account, &call, upload)?;
            Ok(ctx.refused(refusal))
        }
        other => other,
    }
}

/// Checks that the call may have a recording of this many bytes more.
fn may(ctx: &Ctx<'_>, account: Scope<'_>, call: &CallRow, records: bool, bytes: usize) -> Result<(), Halt> {
    if !records {
        return Err(Refusal::NotRecorded.into());
    }
    if call.live.unrecorded == Some(true) {
        return Err(Refusal::Conflict(DELETED.into()).into());
    }
    if call.live.ended_at.is_some_and(|ended| ctx.now.seconds_since(ended) >= AFTERMATH_SECONDS) {
        return Err(Refusal::Conflict(LATE.into()).into());
    }
    if !ctx.setup.config.keeps_recordings {
        return Err(Refusal::NotKept.into());
    }
    let stored = RecordingAccount::load(account)?.map_or(0, |own| own.bytes.unsigned_abs());
    if stored.saturating_add(bytes as u64) > plan::of(account)?.storage_bytes {
        return Err(Refusal::OverStorage(None).into());
    }
    Ok(())
}

/// Notes the object that the recording is to be, and when what is left of it is deleted if nobody comes back.
fn begin(ctx: &Ctx<'_>, account: Scope<'_>, call: &CallRow, records: bool, upload: u64) -> Result<CallObject, Halt> {
    let media = media(ctx)?;
    may(ctx, account, call, records, ctx.request.content_length().unwrap_or(0))?;
    let pending = |object: &&CallObject| object.row.state == ObjectState::Pending;
    if CallObject::all(account, call.count)?.iter().filter(pending).count() >= RECORDING_UPLOADS_MAX {
        return Err(Refusal::Conflict(MANY.into()).into());
    }
    // Last, since not every host knows this before it reads the body.
    if ctx.file().is_ok_and(<[u8]>::is_empty) {
        return Err(empty());
    }
    RecordingAccount::begin(account, &ctx.seed)?.save(account)?;
    let object = new(ctx, call, upload, media);
    object.save(account)?;
    job::add(account, lapse(&object), Task::DropRecordings(call.count))?;
    Ok(object)
}

/// Returns the media type of the body, as far as it can be judged before it is read. Without a type there is no
/// recording, whether or not the host knows that there is no body either.
fn media(ctx: &Ctx<'_>) -> Result<AudioType, Halt> {
    match ctx.file() {
        Ok(_) | Err(Halt::Wait) => {
            let sent = ctx.media_type().unwrap_or_default();
            AudioType::of(&sent).ok_or_else(|| Refusal::MediaType(MEDIA.join(" or ")).into())
        }
        Err(other) => Err(other),
    }
}

fn empty() -> Halt {
    let mut errors = Errors::default();
    errors.say("recording", EMPTY);
    Refusal::Invalid(errors).into()
}

fn new(ctx: &Ctx<'_>, call: &CallRow, upload: u64, media: AudioType) -> CallObject {
    let row = RecordingRow {
        state: ObjectState::Pending,
        began_at: ctx.now,
        media,
        key: encoded(&ctx.seed.derive("recording-key")),
        bytes: 0,
        sealed: false,
        base_url: ctx.base().0,
        rest: Rest::default(),
    };
    CallObject { call: call.count, upload, row }
}

/// Makes an object the recording of its call. Whatever was checked before the upload may have changed since.
fn keep(
    ctx: &Ctx<'_>,
    account: Scope<'_>,
    call: &mut CallRow,
    records: bool,
    (upload, stored): (u64, StoredObject),
) -> Handled {
    may(ctx, account, call, records, stored.bytes as usize)?;
    if stored.bytes == 0 {
        return Err(empty());
    }
    let objects = CallObject::all(account, call.count)?;
    let object = objects.iter().find(|object| object.upload == upload && object.row.state == ObjectState::Pending);
    let mut object = object.cloned().ok_or_else(|| Refusal::Conflict(LAPSED.into()))?;
    object.row.state = ObjectState::Kept;
    (object.row.bytes, object.row.sealed) = (stored.bytes, stored.sealed);
    object.save(account)?;
    replace(ctx, account, call, &objects, upload)?;
    let mut own = RecordingAccount::begin(account, &ctx.seed)?;
    own.bytes += i64::from(stored.bytes);
    own.save(account)?;
    let id = id::of(account.space(), call.count);
    call.shown.recording_url = Some(stored_url(id));
    let note = RecordingNote { content_type: object.row.media, bytes: stored.bytes };
    call.note_within(account, ctx.now.max(call.live.last_at), "recording", &note)?;
    call.save(account, ctx.now)?;
    let url = signed(&own.signing_key()?, &ctx.base().0, id, ctx.now.day(), RECORDING_LINK_DAYS);
    Ok(Reply::created(&UploadedRecording { url }))
}

/// Has what the recording replaces deleted; where it is the only object, nothing is left to look after.
fn replace(ctx: &Ctx<'_>, account: Scope<'_>, call: &CallRow, objects: &[CallObject], upload: u64) -> Result<(), Stop> {
    let task = Task::DropRecordings(call.count);
    let others = || objects.iter().filter(|object| object.upload != upload);
    if others().next().is_none() {
        return job::cancel(account, &task);
    }
    for former in others().filter(|object| object.row.state == ObjectState::Kept) {
        let mut former = former.clone();
        former.row.state = ObjectState::Dropped;
        former.save(account)?;
        job::add(account, ctx.now, task.clone())?;
    }
    Ok(())
}

/// Has an object deleted that is not to be the recording of its call, whether or not anything of it was stored.
fn give_up(ctx: &Ctx<'_>, account: Scope<'_>, call: &CallRow, upload: u64) -> Result<(), Stop> {
    let known = CallObject::find(account, call.count, upload)?;
    let mut object = known.unwrap_or_else(|| new(ctx, call, upload, AudioType::Wav));
    object.row.state = ObjectState::Dropped;
    object.save(account)?;
    job::add(account, ctx.now, Task::DropRecordings(call.count))
}

/// Returns the refusal for a body that was not made an object.
fn refusal(error: UploadError) -> Refusal {
    match error {
        UploadError::Cut => Refusal::BadRequest(CUT.into()),
        UploadError::TooLarge => Refusal::TooLarge(RECORDING_BYTES_MAX),
        UploadError::DiskFull => Refusal::DiskFull(FULL_SECONDS),
        UploadError::Unreachable => Refusal::BadGateway(UNREACHABLE.into()),
    }
}
