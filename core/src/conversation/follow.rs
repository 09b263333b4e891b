//! [`Frames`]: a turn as it goes on, as server-sent events for a caller who prefers them: `tool {name, status}`,
//! `delta {text}`, then `done` with the JSON answer (docs/api.md, Following a turn).

use alloc::vec::Vec;

use crate::http::accept;
use crate::http::ctx::Ctx;
use crate::http::reply::{ObjectFn, Reply};
use crate::http::stream;
use crate::json::{Object, ToJson};

/// The frames of a turn so far; none for a caller who wants the answer alone.
pub struct Frames {
    bytes: Vec<u8>,
    is_wanted: bool,
    is_passed: bool,
}

impl Frames {
    /// Begins with none.
    pub fn of(ctx: &Ctx<'_>) -> Self {
        let is_wanted = accept::prefers(ctx.request, stream::MEDIA);
        Self { bytes: Vec::new(), is_wanted, is_passed: is_wanted && ctx.setup.config.passes_pieces }
    }

    /// Returns whether the host passes the pieces of a streamed answer on as they come.
    pub fn is_passed(&self) -> bool {
        self.is_passed
    }

    /// Says that a function is carried out, or was; strangers are not told.
    pub fn tool(&mut self, ctx: &Ctx<'_>, name: &str, status: &str) {
        if ctx.caller.is_none() {
            return;
        }
        let data = ObjectFn(|o: &mut Object<'_>| {
            o.member("name", name).member("status", status);
        });
        self.add("tool", &data);
        ctx.show(&self.bytes);
    }

    /// Says what the model said, unless its caller heard that already.
    pub fn delta(&mut self, text: &str, is_streamed: bool) {
        if text.is_empty() || is_streamed && self.is_passed {
            return;
        }
        self.add(
            "delta",
            &ObjectFn(|o: &mut Object<'_>| {
                o.member("text", text);
            }),
        );
    }

    fn add(&mut self, event: &str, data: &impl ToJson) {
        if self.is_wanted {
            stream::frame(&mut self.bytes, event, &data.to_json());
        }
    }

    /// Returns the answer in the form that its caller prefers.
    pub fn reply(mut self, answer: &impl ToJson) -> Reply {
        if !self.is_wanted {
            return Reply::ok(answer);
        }
        self.add("done", answer);
        stream::whole(self.bytes)
    }
}
