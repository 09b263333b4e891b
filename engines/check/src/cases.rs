//! The cases: what each offers, what goes wrong in it, and when.

/// A call that is offered.
#[derive(Clone, Copy, Debug)]
pub struct OfferedCall {
    /// Last four digits of the customer's number: engines that play a script may choose it by them, as the simulated
    /// engine does.
    pub digits: u16,
    /// Number of its account, from 0.
    pub account: u64,
    /// Whether its assistant is as large as a claimed one may be.
    pub is_huge: bool,
}

const fn call(digits: u16) -> OfferedCall {
    OfferedCall { digits, account: 0, is_huge: false }
}

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestKind {
    /// `GET /engine`.
    Interface,
    /// `POST /engine/claim`.
    Claim,
    /// `POST /engine/heartbeat`.
    Heartbeat,
    /// `POST /engine/calls`.
    Bring,
    /// `POST /engine/calls/{id}/events`.
    Events,
    /// `POST /engine/calls/{id}/tools/{name}`.
    Tool,
    /// `POST /engine/calls/{id}/knowledge`.
    Knowledge,
    /// `PUT /engine/calls/{id}/recording`.
    Recording,
    /// Anything else.
    Other,
}

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFault {
    /// The connection breaks before anything is taken.
    LostBefore,
    /// It is carried out, and the connection breaks before the answer.
    LostAfter,
    /// It is carried out, and answered this many milliseconds later.
    Slow(u64),
    /// This many events that were taken are forgotten: 409 with the number that is expected.
    Forgets(u64),
    /// Answered 503; nothing is taken.
    Unavailable,
    /// A tool's endpoint does not answer: 502, its events taken.
    ToolFails,
}

/// Which requests of each call a fault meets.
#[derive(Clone, Copy, Debug)]
pub struct Upset {
    /// Kind of the requests.
    pub kind: RequestKind,
    /// The first of them, from 1.
    pub first: u32,
    /// Every how many of them.
    pub every: u32,
    /// How many at most.
    pub most: u32,
    /// What goes wrong.
    pub fault: RequestFault,
}

/// A moment in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallMoment {
    /// It is handed out.
    Claimed,
    /// An event of this type was taken.
    Reported(&'static str),
    /// A tool is asked.
    ToolAsked,
    /// All its commands have ended.
    CommandsEnded,
    /// It has lasted longer than a lease.
    OutlivedLease,
}

/// What the service does at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceAct {
    /// Sends a command of this type with this member, named and valued.
    Command(&'static str, &'static str, &'static str),
    /// Takes the call away: its lease is lost.
    Lose,
    /// Fails for this many milliseconds; with `Some`, every answer has that `Retry-After`, seconds.
    Outage(u64, Option<u64>),
    /// Refuses the token from here on.
    RefuseToken,
    /// Has the engine drain, and offers another call.
    Drain,
}

/// A case.
#[derive(Clone, Copy, Debug)]
pub struct EngineCase {
    /// Its name.
    pub name: &'static str,
    /// What happens in it, as a sentence.
    pub about: &'static str,
    /// Calls that are offered.
    pub calls: &'static [OfferedCall],
    /// What goes wrong with requests.
    pub upsets: &'static [Upset],
    /// What the service does in each call, each once.
    pub acts: &'static [(CallMoment, ServiceAct)],
    /// How long the engine is watched once all calls are over, milliseconds.
    pub linger_ms: u64,
    /// What is special about it.
    pub twist: CaseTwist,
}

/// What is special about a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseTwist {
    /// Nothing.
    None,
    /// The service answers claims at once, before there are calls.
    EmptyClaims,
    /// The service has members, commands and refusals of a later release.
    Tomorrow,
    /// More calls are offered than the engine has room for, and answers are slow.
    Crowd,
}

const PLAIN: EngineCase = EngineCase {
    name: "plain",
    about: "",
    calls: &[call(1)],
    upsets: &[],
    acts: &[],
    linger_ms: 400,
    twist: CaseTwist::None,
};

/// What is played before the first case: nothing.
pub(crate) const WAITING: EngineCase = EngineCase { name: "waiting", calls: &[], ..PLAIN };

const fn upset(kind: RequestKind, first: u32, every: u32, most: u32, fault: RequestFault) -> Upset {
    Upset { kind, first, every, most, fault }
}

const HANG_UP: ServiceAct = ServiceAct::Command("hangup", "", "");

/// All cases, in the order in which they are played.
pub const CASES: &[EngineCase] = &[
    EngineCase { about: "A call that goes well.", ..PLAIN },
    EngineCase { name: "tool", about: "A call in which each tool is asked.", calls: &[call(8)], ..PLAIN },
    EngineCase {
        name: "tool-lost",
        about: "The first answer to a tool gets lost after the tool was carried out.",
        calls: &[call(8)],
        upsets: &[upset(RequestKind::Tool, 1, 1, 1, RequestFault::LostAfter)],
        ..PLAIN
    },
    EngineCase {
        name: "tool-fails",
        about: "Tools do not answer; their events are taken.",
        calls: &[call(8)],
        upsets: &[upset(RequestKind::Tool, 1, 1, 99, RequestFault::ToolFails)],
        ..PLAIN
    },
    EngineCase {
        name: "forgets",
        about: "The service asks for events again that it had taken.",
        upsets: &[upset(RequestKind::Events, 3, 3, 2, RequestFault::Forgets(2))],
        ..PLAIN
    },
    EngineCase {
        name: "lost-before",
        about: "Reports get lost before the service takes them.",
        upsets: &[upset(RequestKind::Events, 2, 2, 4, RequestFault::LostBefore)],
        ..PLAIN
    },
    EngineCase {
        name: "lost-after",
        about: "Answers get lost after the service has taken the events.",
        upsets: &[upset(RequestKind::Events, 1, 2, 4, RequestFault::LostAfter)],
        ..PLAIN
    },
    EngineCase {
        name: "slow",
        about: "Answers to reports take most of a second.",
        upsets: &[upset(RequestKind::Events, 1, 1, 5, RequestFault::Slow(700))],
        ..PLAIN
    },
    EngineCase {
        name: "unavailable",
        about: "The service answers 503 for three seconds from the answer of the call on.",
        calls: &[call(7)],
        acts: &[
            (CallMoment::Reported("answered"), ServiceAct::Outage(3_000, None)),
            (CallMoment::Reported("transcript"), HANG_UP),
        ],
        ..PLAIN
    },
    EngineCase {
        name: "retry-after",
        about: "The service answers 503 with Retry-After for three seconds.",
        calls: &[call(7)],
        acts: &[
            (CallMoment::Reported("answered"), ServiceAct::Outage(3_000, Some(1))),
            (CallMoment::Reported("transcript"), HANG_UP),
        ],
        ..PLAIN
    },
    EngineCase {
        name: "commands",
        about: "A call is given one command after another, and then hung up.",
        calls: &[call(7)],
        acts: &[
            (CallMoment::Reported("answered"), ServiceAct::Command("say", "text", "One more thing.")),
            (CallMoment::Reported("answered"), ServiceAct::Command("context", "text", "She is in a hurry.")),
            (CallMoment::Reported("answered"), ServiceAct::Command("dtmf", "digits", "12#")),
            (CallMoment::Reported("answered"), ServiceAct::Command("hold", "", "")),
            (CallMoment::Reported("answered"), ServiceAct::Command("resume", "", "")),
            (CallMoment::CommandsEnded, HANG_UP),
        ],
        ..PLAIN
    },
    EngineCase {
        name: "command-transfer",
        about: "A call is to be transferred, and then hung up.",
        calls: &[call(7)],
        acts: &[
            (CallMoment::Reported("answered"), ServiceAct::Command("transfer", "to", "+12025550144")),
            (CallMoment::CommandsEnded, HANG_UP),
        ],
        ..PLAIN
    },
    EngineCase {
        name: "command-end",
        about: "A call is to end after the sentence that is being said, and then hung up.",
        calls: &[call(7)],
        acts: &[
            (CallMoment::Reported("answered"), ServiceAct::Command("end", "after", "sentence")),
            (CallMoment::CommandsEnded, HANG_UP),
        ],
        ..PLAIN
    },
    EngineCase {
        name: "late-commands",
        about: "Commands come for a call that has just ended.",
        acts: &[
            (CallMoment::Reported("ended"), ServiceAct::Command("say", "text", "Wait.")),
            (CallMoment::Reported("ended"), HANG_UP),
        ],
        linger_ms: 1_500,
        ..PLAIN
    },
    EngineCase {
        name: "hang-up-claimed",
        about: "The command to hang up comes with the call.",
        calls: &[call(7)],
        acts: &[(CallMoment::Claimed, HANG_UP)],
        ..PLAIN
    },
    EngineCase {
        name: "hang-up-dialing",
        about: "A call is hung up while it is dialed.",
        calls: &[call(7)],
        acts: &[(CallMoment::Reported("dialing"), HANG_UP)],
        ..PLAIN
    },
    EngineCase {
        name: "hang-up-ringing",
        about: "A call is hung up while it rings.",
        calls: &[call(7)],
        acts: &[(CallMoment::Reported("ringing"), HANG_UP)],
        ..PLAIN
    },
    EngineCase {
        name: "hang-up-answered",
        about: "A call is hung up as soon as it is answered.",
        calls: &[call(7)],
        acts: &[(CallMoment::Reported("answered"), HANG_UP)],
        ..PLAIN
    },
    EngineCase {
        name: "hang-up-in-tool",
        about: "A call is hung up while a tool runs.",
        calls: &[call(8)],
        upsets: &[upset(RequestKind::Tool, 1, 1, 1, RequestFault::Slow(2_500))],
        acts: &[(CallMoment::ToolAsked, HANG_UP)],
        ..PLAIN
    },
    EngineCase {
        name: "lost",
        about: "The service takes a call away in which somebody talks.",
        calls: &[call(7)],
        acts: &[(CallMoment::Reported("answered"), ServiceAct::Lose)],
        linger_ms: 3_500,
        ..PLAIN
    },
    EngineCase {
        name: "tomorrow",
        about: "The service speaks of members, commands and events that only a later release knows.",
        acts: &[(CallMoment::Reported("answered"), ServiceAct::Command("hum", "tune", "a lullaby"))],
        twist: CaseTwist::Tomorrow,
        ..PLAIN
    },
    EngineCase {
        name: "huge",
        about: "The claimed assistant has a mebibyte.",
        calls: &[OfferedCall { is_huge: true, ..call(1) }],
        ..PLAIN
    },
    EngineCase {
        name: "empty",
        about: "Claims are answered at once and empty for two seconds, before a call comes.",
        twist: CaseTwist::EmptyClaims,
        ..PLAIN
    },
    EngineCase {
        name: "accounts",
        about: "Calls of two accounts at once.",
        calls: &[call(1), OfferedCall { account: 1, ..call(1) }],
        ..PLAIN
    },
    EngineCase {
        name: "crowd",
        about: "More calls wait than the engine has room for.",
        upsets: &[upset(RequestKind::Events, 1, 1, 1, RequestFault::Slow(1_500))],
        twist: CaseTwist::Crowd,
        ..PLAIN
    },
    EngineCase {
        name: "release",
        about: "A call that engines with a script give back.",
        calls: &[call(13)],
        linger_ms: 1_000,
        ..PLAIN
    },
    EngineCase {
        name: "long",
        about: "A call lasts longer than a lease, and is then hung up.",
        calls: &[call(7)],
        acts: &[(CallMoment::OutlivedLease, HANG_UP)],
        ..PLAIN
    },
    EngineCase {
        name: "drain",
        about: "The engine is told to drain while somebody talks, and another call waits.",
        acts: &[(CallMoment::Reported("answered"), ServiceAct::Drain)],
        linger_ms: 1_000,
        ..PLAIN
    },
    EngineCase {
        name: "token-refused",
        about: "The token is refused from the answer of the call on.",
        calls: &[call(7)],
        acts: &[(CallMoment::Reported("answered"), ServiceAct::RefuseToken)],
        linger_ms: 3_000,
        ..PLAIN
    },
];

/// Finds a case by its name.
pub fn case(name: &str) -> Option<&'static EngineCase> {
    CASES.iter().find(|case| case.name == name)
}
