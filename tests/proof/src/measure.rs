//! The cost of a step across the boundary of a component, next to the same step without one.

use std::time::{Duration, Instant};

use switchboard_claims::Claim;
use switchboard_core::http::request::{Body, Door, Method, Request};
use switchboard_core::rate::RateLimits;
use switchboard_core::seed::Seed;
use switchboard_core::step::{Outcome, OwnedInput};
use switchboard_core::time::Timestamp;
use switchboard_tests::house::assistant;

use crate::scene::{self, Recorder};
use crate::script::Script;
use crate::stage::{Limits, Stage, Steps};
use crate::subject::component::{Program, built};
use crate::subject::{Cold, Warm};

/// Steps per measurement, of which the median counts.
const STEPS: usize = 2_000;
/// Rows in the measured lists.
const ASSISTANTS: usize = 100;

/// Prints a table and returns its claims.
pub fn run() -> Vec<Claim> {
    let mut recorder = Recorder::begin(1_790_067_600);
    let body = assistant().to_string();
    let key = recorder.tokens()[0].to_owned();
    for _ in 0..ASSISTANTS {
        let typed = [("content-type", "application/json")];
        recorder.send(Method::Post, "/user/assistant", &key, &typed, Some(body.as_bytes()));
    }
    let (script, _) = recorder.finish();
    let began = Instant::now();
    let program = Program::load(&built());
    let compiled = began.elapsed().as_secs_f64();
    let instance = median(200, || drop(program.start(&scene::settings()))).as_secs_f64() * 1e3;
    let mut claims = vec![
        Claim::stated("Compiling the component, once", format!("{compiled:.1} s")),
        Claim::at_most("An instance of the component with its configuration", 2.0, instance, "ms"),
    ];
    println!(
        "| step | native, µs | in rounds, µs | component, µs | component - 1.5 × in rounds |\n|---|---|---|---|---|"
    );
    let read = request(Method::Get, "/user/assistant/1", &key, None);
    let list = request(Method::Get, "/user/assistants/get?per_page=15", &key, None);
    let create = request(Method::Post, "/user/assistant", &key, Some(body.as_bytes()));
    let unknown = request(Method::Get, "/nowhere", &key, None);
    for (name, request) in
        [("unknown path", unknown), ("a read", read), ("a page of 15", list), ("a create, not stored", create)]
    {
        let input = OwnedInput::Http(request, Vec::new());
        let settings = &script.settings;
        let native = time(Warm::new(settings), &script, &input);
        let rounds = time(Cold::new(settings), &script, &input);
        let component = time(program.start(settings), &script, &input);
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let aim = 1.5 * micros(rounds) + 20.0;
        claims.push(Claim::at_most(format!("A step through the component: {name}"), aim, micros(component), "µs"));
        println!(
            "| {name} | {:.1} | {:.1} | {:.1} | {:.1} |",
            micros(native),
            micros(rounds),
            micros(component),
            micros(component) - 1.5 * micros(rounds)
        );
    }
    claims
}

fn request(method: Method, target: &str, key: &str, body: Option<&[u8]>) -> Request {
    let mut headers = vec![("authorization", format!("Bearer {key}").into_bytes()), ("host", b"api.example".to_vec())];
    headers.extend(body.map(|_| ("content-type", b"application/json".to_vec())));
    let body = body.map_or(Body::None, |bytes| Body::Full(bytes.to_vec()));
    Request { method, target: target.to_owned(), headers, body, peer: None, door: Door::Main }
}

/// Returns the median time of a step over the rows of a script; its output is dropped.
fn time(steps: impl Steps, script: &Script, input: &OwnedInput) -> Duration {
    let mut stage = Stage::new(steps, RateLimits { per_minute: 0, replies: 0 });
    for line in &script.lines {
        stage.line(line);
    }
    let now = script.lines.last().map_or(Timestamp::default(), |line| line.now);
    let mut steps = stage.into_steps();
    let limits = Limits::none();
    median(STEPS, || {
        let output = steps.step(input, now, Seed::new([3; 32]), &limits).expect("a step");
        assert!(matches!(output.outcome, Outcome::Reply(_)), "{:?}", output.outcome);
    })
}

fn median(count: usize, mut act: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..count)
        .map(|_| {
            let began = Instant::now();
            act();
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[count / 2]
}
