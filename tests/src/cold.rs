//! Runs a step over a view in which every first read is missing.

use switchboard_core::remote::{Progress, StepRun, region};
use switchboard_core::service::Service;
use switchboard_core::step::{Input, Output, OwnedInput};
use switchboard_core::view::Scene;

/// Runs the step of `scene` with nothing loaded at first; returns its output and the number of trips to the store.
///
/// # Panics
/// If the step stops, or asks for the same read twice.
#[track_caller]
pub fn step(service: &Service, input: &Input<'_>, scene: &Scene<'_>) -> (Output, usize) {
    let mut session = StepRun::new(own(input), scene.now, scene.seed);
    let (mut found, mut asked) = (Vec::new(), std::collections::BTreeSet::new());
    let mut trips = 0;
    loop {
        match session.advance(service, found).expect("a store in memory never stops a step") {
            Progress::Done(output) => return (output, trips),
            Progress::Need(reads) => {
                assert!(reads.iter().all(|read| !asked.contains(read)), "what was loaded is asked for again");
                found = region::carry_out(scene.view, &reads).expect("no step reads too much");
                asked.extend(reads);
                trips += 1;
            }
        }
    }
}

/// Returns an owned copy of the input.
pub fn own(input: &Input<'_>) -> OwnedInput {
    match input {
        Input::Http(request, answers) => OwnedInput::Http((*request).clone(), answers.to_vec()),
        Input::Answered(ticket, answer) => OwnedInput::Answered(ticket.clone(), answer.clone()),
        Input::Tick => OwnedInput::Tick,
        Input::Used(credentials) => OwnedInput::Used(credentials.to_vec()),
        Input::FirstStart(answers) => OwnedInput::FirstStart(answers.to_vec()),
    }
}
