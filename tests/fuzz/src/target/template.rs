//! `{{name}}` in texts: known names are replaced, the rest is kept and reported once each.

use switchboard_core::template::fill;
use switchboard_sim::random::Random;

use super::{Seen, Target};
use crate::mutate;

/// Known names with their values.
const KNOWN: [(&str, &str); 3] = [("who", "Ana"), ("x_1", "{{who}}"), ("ün", "")];

/// Target `template`: texts with placeholders.
pub struct Templates;

impl Target for Templates {
    fn name(&self) -> &'static str {
        "template"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        let pieces = ["{{", "}}", "{", "}", "who", "{{who}}", "{{ x_1 }}", "{{ün}}", "{{a.b-c}}", " ", "\u{a0}", "é"];
        let mut text: Vec<u8> = Vec::new();
        for _ in 0..random.below(20) {
            let piece = if random.chance(900) { random.one(&pieces).to_owned() } else { mutate::text(random) };
            text.extend(piece.into_bytes());
        }
        text
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        let text = String::from_utf8_lossy(input);
        let value = |name: &str| KNOWN.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let Ok(kept) = fill(&text, usize::MAX, |_| None, |name| format!("{{{{{name}}}}}")) else {
            return Err(format!("{text:?} is not filled without a bound"));
        };
        let Ok(filled) = fill(&text, usize::MAX, value, |name| format!("<{name}>")) else {
            return Err(format!("{text:?} is not filled without a bound"));
        };
        let bound = filled.text.len();
        let bounded = |bytes_max| fill(&text, bytes_max, value, |name| format!("<{name}>"));
        if bounded(bound).as_ref() != Ok(&filled) || (bound > 0 && bounded(bound - 1).is_ok()) {
            return Err(format!("{text:?} is not bounded by its {bound} bytes"));
        }
        if !text.contains("{{") && filled.text != text {
            return Err(format!("{text:?} without a placeholder becomes {:?}", filled.text));
        }
        let squeezed = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
        if squeezed(&kept.text) != squeezed(&text) {
            return Err(format!("{text:?} becomes {:?}", kept.text));
        }
        let unknown = &filled.unknown;
        let once = unknown.iter().all(|name| unknown.iter().filter(|other| *other == name).count() == 1);
        if !once || unknown.iter().any(|name| value(name).is_some()) {
            return Err(format!("{text:?}: {unknown:?} are told"));
        }
        let said = match (kept.unknown.len(), unknown.len()) {
            (0, _) => "no name",
            (_, 0) => "all known",
            _ => "some unknown",
        };
        Ok(Seen::word(said))
    }
}
