//! Answers of carriers, models, calendars, tools, receivers and sites to every question of the service.
//!
//! An input is the number of a question, a line end, and an answer for [`answer::parse`].

use switchboard_core::outside::Answer;
use switchboard_core::step::Input;
use switchboard_core::view::Scene;
use switchboard_sim::random::Random;

use super::{Seen, Target, mutated};
use crate::answer::{self, Asker, Question};
use crate::exchange::{Place, is_own};
use crate::layer::Layer;
use crate::town::Town;
use crate::{corpus, mutate};

/// How many follow-up questions of an answer are answered as well.
const FOLLOWED_MAX: usize = 3;

/// Target `answer`: answers of the outside.
pub struct Answers<'t> {
    town: &'t Town,
    corpus: Vec<Vec<u8>>,
}

impl<'t> Answers<'t> {
    /// Creates the target for a town's questions.
    pub fn new(town: &'t Town) -> Self {
        Self { town, corpus: corpus::of("answer") }
    }

    fn exchange(&self, question: &Question, text: &[u8]) -> Result<Seen, String> {
        let Asker::Exchange(request, before) = &question.asker else { return Ok(Seen::word("no request")) };
        let mut layer = Layer::over(&question.store);
        let mut place = Place {
            service: &self.town.service,
            judge: &self.town.judge,
            layer: &mut layer,
            now: question.now,
            seed: Random::new(7).seed(),
        };
        let mut before = before.iter().cloned();
        let own = is_own(self.town, request);
        let answer = |work: &_| before.next().unwrap_or_else(|| answer::parse(text, work));
        Ok(place.carry(request.clone(), own, answer)?.seen)
    }

    fn job(&self, question: &Question, text: &[u8]) -> Result<Seen, String> {
        let Asker::Job(ticket) = &question.asker else { return Ok(Seen::word("no job")) };
        let mut layer = Layer::over(&question.store);
        let mut next = Some((ticket.clone(), answer::parse(text, &question.work)));
        let mut followed = 0;
        while let Some((ticket, answer)) = next.take() {
            let failed = matches!(answer, Answer::Failed(_));
            let scene =
                Scene { now: question.now, seed: Random::new(followed as u64).seed(), view: &layer, careful: false };
            let output = self.town.service.step(&Input::Answered(ticket, answer), &scene);
            let output = output.map_err(|stop| format!("the step stopped: {stop:?}"))?;
            layer.apply(&output.changes);
            followed += 1;
            let Some(send) = output.sends.into_iter().next().filter(|_| followed < FOLLOWED_MAX && !failed) else {
                continue;
            };
            let answer = answer::parse(text, &send.work);
            next = Some((send.ticket, answer));
        }
        let said = format!("job, {followed}");
        let kind = format!("{said} {:?}", std::mem::discriminant(&question.work));
        Ok(Seen { said, kind })
    }
}

impl Target for Answers<'_> {
    fn name(&self) -> &'static str {
        "answer"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| {
            let question = mutate::index(random, self.town.questions.len());
            [format!("{question}\n").into_bytes(), answer::draw(random)].concat()
        })
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        let at = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
        let number = std::str::from_utf8(&input[..at]).ok().and_then(|text| text.parse::<usize>().ok());
        let Some(question) = number.and_then(|number| self.town.questions.get(number)) else {
            return Ok(Seen::word("no question"));
        };
        let text = &input[(at + 1).min(input.len())..];
        match question.asker {
            Asker::Exchange(..) => self.exchange(question, text),
            Asker::Job(_) => self.job(question, text),
        }
    }
}
