//! Settings of hosts without a command line: either an error sentence, or a service that runs.

use switchboard_core::memory::Memory;
use switchboard_core::rate::{Buckets, Caller};
use switchboard_core::service::Service;
use switchboard_core::settings::parse;
use switchboard_core::step::{Input, Outcome};
use switchboard_core::time::Timestamp;
use switchboard_core::view::Scene;
use switchboard_sim::random::Random;

use super::{Seen, Target, mutated};
use crate::{body, corpus, http, mutate};

/// Valid settings, as a base for mutation.
const VALID: &[&str] = &[
    "{}",
    r#"{"public_url":"https://api.example","trust_proxy":["10.0.0.0/8","::1/128"],"cors_origin":["*"]}"#,
    r#"{"session_seconds":60,"rate_limit":60000000,"egress_allow":["127.0.0.0/8"],"without_engine":"refuse"}"#,
    r#"{"llm":{"url":"https://llm.example/v1","model":"m","key":"k"},"calendar_url":"https://cal.example"}"#,
    r#"{"twilio":{"account_sid":"AC1","auth_token":"t","base_url":"https://t.example","number_cents":5}}"#,
    r#"{"catalogue":{"languages":[{"id":1,"name":"English","iso_2":"en"}],"voices":[],"llm_models":[],"multimodal_models":[],"synthesizer_providers":[],"transcriber_providers":[]}}"#,
];

/// Target `settings`: the JSON of a host's settings.
pub struct Settings {
    corpus: Vec<Vec<u8>>,
}

impl Settings {
    /// Creates the target with its corpus.
    pub fn new() -> Self {
        Self { corpus: corpus::of("settings") }
    }
}

impl Target for Settings {
    fn name(&self) -> &'static str {
        "settings"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| {
            let mut value: serde_json::Value = serde_json::from_str(random.one(VALID)).expect("JSON");
            if random.chance(700) {
                body::change(random, &mut value);
            }
            let mut bytes = value.to_string().into_bytes();
            if random.chance(250) {
                mutate::bytes(random, &mut bytes);
            }
            bytes
        })
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        let configured = match parse(input) {
            Ok(configured) => configured,
            Err(says) if says.is_empty() => return Err("a refusal says nothing".into()),
            Err(says) => {
                let kind = says.chars().filter(|letter| letter.is_alphabetic()).take(40).collect();
                return Ok(Seen { said: "refused".into(), kind });
            }
        };
        let now = Timestamp::from_seconds(1_790_000_000);
        let rate = Buckets::new(configured.rate_limits).admit(Caller::Token { account: 0, token: 1 }, now);
        if rate.is_some_and(|rate| !rate.admitted) {
            return Err("the first request is refused".into());
        }
        let service = Service::new(configured.config);
        let request = http::parse(b"GET /user/me\nhost: x\norigin: https://a.example\n", &[]).ok_or("a request")?;
        let store = Memory::default();
        let scene = Scene { now, seed: Random::new(1).seed(), view: &store, careful: false };
        let output = service.step(&Input::Http(&request, &[]), &scene).map_err(|stop| format!("{stop:?}"))?;
        match output.outcome {
            Outcome::Reply(reply) if reply.status == 401 => Ok(Seen::word("configured")),
            other => Err(format!("nobody is answered {other:?}")),
        }
    }
}
