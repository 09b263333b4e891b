//! Placeholders: `{{name}}` in prompts, URLs and header values.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

/// Text with its placeholders replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// The text, at most `bytes_max` bytes long.
    pub text: String,
    /// Names without a value, each once, in the order of the text.
    pub unknown: Vec<String>,
}

/// Error: the filled text would exceed its limit of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilledTooLong;

/// Replaces each placeholder by its `value`, or by what `unknown` returns for a name without one. Values are not filled
/// again. Stops as soon as the text exceeds `bytes_max` bytes, so it never holds more than that and one value.
pub fn fill(
    text: &str,
    bytes_max: usize,
    value: impl Fn(&str) -> Option<String>,
    unknown: impl Fn(&str) -> String,
) -> Result<Filled, FilledTooLong> {
    let mut filled = Filled { text: String::with_capacity(text.len().min(bytes_max)), unknown: Vec::new() };
    // A set, not a search of the list: a text of a megabyte has room for many names.
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let mut rest = text;
    while let Some((before, name, after)) = placeholder(rest) {
        filled.text.push_str(before);
        if let Some(value) = value(name) {
            filled.text.push_str(&value);
        } else {
            filled.text.push_str(&unknown(name));
            if told.insert(name) {
                filled.unknown.push(name.into());
            }
        }
        if filled.text.len() > bytes_max {
            return Err(FilledTooLong);
        }
        rest = after;
    }
    filled.text.push_str(rest);
    if filled.text.len() > bytes_max { Err(FilledTooLong) } else { Ok(filled) }
}

/// Returns the first placeholder: the text before it, its name, the text after it.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find("{{").map(|at| at + from) {
        let inner = &text[at + 2..];
        // A name has no brace or space in it, so the search is linear: no text is scanned for two placeholders.
        let end = inner.find(|c: char| !is_of_name(c) && !c.is_whitespace()).unwrap_or(inner.len());
        let name = inner[..end].trim();
        if let Some(after) = inner[end..].strip_prefix("}}")
            && is_name(name)
        {
            return Some((&text[..at], name, after));
        }
        from = at + 1;
    }
    None
}

/// Returns whether a text can stand as the name in a placeholder.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_of_name)
}

/// Returns whether a name may contain the character.
pub fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-' || c == '.'
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn known_names_are_filled_in_and_unknown_ones_reported() {
        let value = |name: &str| (name == "who").then(|| "Ana".to_string());
        for (text, want, unknown) in [
            ("Hello {{who}}!", "Hello Ana!", vec![]),
            ("{{ who }}{{who}}", "AnaAna", vec![]),
            ("{{a}} {{who}} {{a}} {{b}}", "<a> Ana <a> <b>", vec!["a", "b"]),
            ("{{{who}}}", "{Ana}", vec![]),
            ("{{}} {{ x y }} {{who", "{{}} {{ x y }} {{who", vec![]),
            ("{{who}} }} {{", "Ana }} {{", vec![]),
            ("{x} {{ün}}", "{x} <ün>", vec!["ün"]),
        ] {
            let filled = fill(text, 100, value, |name| alloc::format!("<{name}>")).expect("short");
            assert_eq!(
                (filled.text.as_str(), filled.unknown),
                (want, unknown.iter().map(ToString::to_string).collect()),
                "{text}"
            );
        }
        let twice = fill("{{who}}", 100, |_| Some("{{who}}".into()), |_| String::new());
        assert_eq!(twice.map(|filled| filled.text), Ok("{{who}}".into()), "values are not filled again");
    }

    #[test]
    fn filling_stops_at_the_bound() {
        let (asked, long) = (core::cell::Cell::new(0), "x".repeat(1_000));
        let value = |name: &str| {
            asked.set(asked.get() + 1);
            (name == "a").then(|| long.clone())
        };
        let text = "{{a}}".repeat(190_000);
        assert_eq!(fill(&text, 10_000, value, |_| String::new()), Err(FilledTooLong));
        assert_eq!(asked.get(), 11, "what comes behind the bound is not looked up");
        for (text, bytes_max, fits) in [("{{a}}b", 1_001, true), ("{{a}}b", 1_000, false), ("{{b}}{{b}}", 3, false)] {
            let filled = fill(text, bytes_max, value, |_| "yy".into());
            assert_eq!(filled.is_ok(), fits, "{text} in {bytes_max}");
        }
    }

    #[test]
    fn a_hostile_prompt_takes_no_longer_than_others() {
        let kept = |name: &str| alloc::format!("{{{{{name}}}}}");
        let fill = |text: &str| super::fill(text, 2_000_000, |_| None, kept).expect("it fits");
        let braces = alloc::format!("{}}}}}", "{".repeat(1_000_000));
        assert_eq!(fill(&braces), Filled { text: braces.clone(), unknown: vec![] });
        let open = "{{a ".repeat(250_000);
        assert_eq!(fill(&open), Filled { text: open.clone(), unknown: vec![] });
        let names = (0..100_000).map(|n| alloc::format!("{{{{{n:05}}}}}")).collect::<Vec<_>>().concat();
        let filled = fill(&names);
        assert_eq!((filled.text, filled.unknown.len()), (names, 100_000));
    }

    use alloc::vec;
}
