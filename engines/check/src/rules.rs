//! The rules of the engine interface that can be checked from the service's side.

/// Declares the rules: variant, name, section of docs/engines-writing.md, sentence.
macro_rules! rules {
    ($($rule:ident = $name:literal, $section:literal, $sentence:literal;)*) => {
        /// A rule that an engine keeps or breaks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum EngineRule { $(#[doc = $sentence] $rule),* }

        impl EngineRule {
            /// All rules, in the order of the page.
            pub const ALL: &'static [Self] = &[$(Self::$rule),*];

            /// Returns its name on the command line and in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$rule => $name),* }
            }

            /// Returns the section of docs/engines-writing.md that it stands in.
            pub const fn section(self) -> &'static str {
                match self { $(Self::$rule => $section),* }
            }

            /// Returns what it asks, as a sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$rule => $sentence),* }
            }
        }
    };
}

rules! {
    Token = "token", "Attach", "Every request carries the token as a bearer token.";
    ClaimMembers = "claim-members", "Claim calls",
        "A claim names the engine and protocol 2, with a capacity of 0 or more and a wait of at most 30 seconds.";
    TakesCalls = "takes-calls", "Claim calls", "An engine with room claims the calls that wait.";
    Capacity = "capacity", "Claim calls", "An engine has no more calls at once than it said it can carry.";
    NoPolling = "no-polling", "Claim calls",
        "Claims that bring nothing are not repeated in a loop, even where the service answers at once.";
    StaysUp = "stays-up", "Claim calls", "Nothing that the service answers ends the engine, but a refused token.";
    EventMembers = "event-members", "Report events",
        "An event has a number, a type and the members of its type; a time is RFC 3339; a list has at most 100 events.";
    NoGaps = "no-gaps", "Report events",
        "Events are numbered from `next_seq` without a gap, and what was not acknowledged is sent again.";
    SameEvent = "same-event", "Report events", "A number that was sent brings the same event whenever it is sent again.";
    ResumesAt = "resumes-at", "Report events", "After a 409 an engine goes on from the number that the answer names.";
    DialingFirst = "dialing-first", "Report events", "A call is reported as dialing before anything rings.";
    States = "states", "Report events", "Events follow the states of a call.";
    EveryCallEnds = "every-call-ends", "Report events", "Every claimed call ends, fails or is given back.";
    AfterEnd = "after-end", "Late events",
        "After the end come only recording, cost, usage, quality and metrics, and lines that were said before.";
    AfterRelease = "after-release", "Give a call back",
        "A call that was given back is let go of: it is not dialed, and nothing more is said of it.";
    LeaseRenewed = "lease-renewed", "Leases", "A lease is renewed before it runs out, also in a call in which nothing happens.";
    HeartbeatMembers = "heartbeat-members", "Leases", "A heartbeat names the engine, and at most 10,000 calls.";
    LostLeft = "lost-left", "Leases", "A call that is lost is hung up and let go of.";
    CommandEnds = "command-ends", "Commands", "Every command ends in one event, done or refused, also one of an unknown type.";
    CommandOnce = "command-once", "Commands", "A command that comes again is not carried out again.";
    HangUpObeyed = "hang-up-obeyed", "Commands", "An engine that is told to hang up ends the call.";
    EventsBeforeTool = "events-before-tool", "Tools",
        "What led to a tool is at the service before the request for the tool, or travels with it.";
    ToolOnce = "tool-once", "Tools",
        "A tool whose answer got lost is asked again under the same Idempotency-Key with the same body, or not at all.";
    ToolMembers = "tool-members", "Tools", "A tool is asked by the name of a function, with its arguments.";
    BacksOff = "backs-off", "When the service fails", "An engine that is answered 503 waits longer and longer before it tries again.";
    RetryAfter = "retry-after", "When the service fails", "An engine waits as long as Retry-After says.";
    Outlives = "outlives", "When the service fails", "A call outlives failures of the service that are shorter than its lease.";
    TokenRefused = "token-refused", "When the service fails", "An engine whose token is refused stops, or asks now and then.";
    Tolerates = "tolerates", "When the service fails",
        "Members, commands and ignored events that an engine does not know of do not disturb a call.";
    CallsApart = "calls-apart", "Claim calls", "Calls are carried apart: what is said in one is not reported of another.";
    BroughtOnce = "brought-once", "Inbound and web calls",
        "A call that came in is brought under an `external_id` or an Idempotency-Key, the same when it is brought again.";
    DrainTakesNone = "drain-takes-none", "Drain", "An engine that drains begins no call.";
    DrainEnds = "drain-ends", "Drain", "An engine that drains carries its calls to their end, and ends itself.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_stands_in_a_section_of_the_page() {
        let page = include_str!("../../../docs/engines-writing.md");
        for rule in EngineRule::ALL {
            assert!(page.contains(&format!("\n## {}\n", rule.section())), "{}: {}", rule.name(), rule.section());
            let names = EngineRule::ALL.iter().filter(|other| other.name() == rule.name());
            assert_eq!(names.count(), 1, "{}", rule.name());
        }
    }
}
