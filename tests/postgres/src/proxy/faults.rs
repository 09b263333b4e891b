//! What is wrong with a link.

use std::time::Duration;

/// Which way bytes flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Requests.
    ToServer,
    /// Answers.
    ToClient,
}

/// How a request is lost; its connection is cut in each case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The server never sees it.
    Request,
    /// It is passed on, and the connection is cut at once: the server may or may not carry it out.
    Connection,
    /// The server has answered it, and the client never sees that: it was carried out.
    Answer,
}

/// What is wrong with a link; nothing by default.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// How long bytes are under way, by [`Flow`].
    pub delays: [Duration; 2],
    /// What goes nowhere, by [`Flow`].
    pub swallowed: [bool; 2],
    /// Bound of the drawn time after which a connection is cut.
    pub longest_life: Option<Duration>,
    /// How requests are lost, and how many, per mille.
    pub loss: Option<(Loss, u32)>,
    /// Number of times that all connections were cut.
    pub cuts: u64,
}

impl Faults {
    /// Takes all faults away.
    pub fn heal(&mut self) {
        *self = Self { cuts: self.cuts, ..Self::default() };
    }
}
