//! A step over a view in which every first read is missing.

use switchboard_core::output::{Input, Output, OwnedInput};
use switchboard_core::remote::{Progress, Session};
use switchboard_core::service::Service;
use switchboard_core::view::{Found, Read, Scene, View};

/// Runs the step of `scene` with nothing loaded at first.
///
/// # Panics
/// Where the step stops, or asks twice for the same.
#[track_caller]
pub fn step(service: &Service, input: &Input<'_>, scene: &Scene<'_>) -> Output {
    let mut session = Session::new(own(input), scene.now, scene.seed);
    let (mut found, mut asked) = (Vec::new(), std::collections::BTreeSet::new());
    loop {
        match session.advance(service, found).expect("a store in memory never stops a step") {
            Progress::Done(output) => return output,
            Progress::Need(reads) => {
                assert!(reads.iter().all(|read| !asked.contains(read)), "what was loaded is asked for again");
                found = reads.iter().map(|read| carry_out(scene.view, read)).collect();
                asked.extend(reads);
            }
        }
    }
}

/// What a read finds in a view that holds everything.
pub fn carry_out(view: &dyn View, read: &Read) -> Found {
    let whole = "a store in memory never stops a read";
    match read {
        Read::Get(key) => Found::Value(view.get(std::slice::from_ref(key)).expect(whole).remove(0)),
        Read::Scan(scan) => {
            Found::Rows(view.scan(scan.from.clone()..scan.to.clone(), scan.order, scan.limit).expect(whole))
        }
        Read::Admit(caller) => Found::Rate(view.admit(*caller).expect(whole)),
    }
}

/// The input with all that it is about.
pub fn own(input: &Input<'_>) -> OwnedInput {
    match input {
        Input::Http(request, answers) => OwnedInput::Http((*request).clone(), answers.to_vec()),
        Input::Answered(ticket, answer) => OwnedInput::Answered(ticket.clone(), answer.clone()),
        Input::Tick => OwnedInput::Tick,
        Input::Used(credentials) => OwnedInput::Used(credentials.to_vec()),
        Input::FirstStart(answers) => OwnedInput::FirstStart(answers.to_vec()),
    }
}
