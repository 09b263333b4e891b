//! Secrets of built-in tools: shown masked; a masked one that is sent back means "unchanged" (docs/api.md, Updating
//! an assistant).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::built_in::BuiltInTool;
use crate::json::{Members, Value};

/// Masks a secret: `****` and its last four characters, or `****` alone if it has fewer than twelve.
pub fn secret(text: &str) -> String {
    let length = text.chars().count();
    if length < 12 { "****".into() } else { format!("****{}", text.chars().skip(length - 4).collect::<String>()) }
}

/// Returns the tools as answers show them: secrets masked, and members repeated in `data` where they were sent so.
pub fn tools(mut tools: Vec<BuiltInTool>) -> Vec<BuiltInTool> {
    for tool in &mut tools {
        if let BuiltInTool::CalendarIntegration(calendar) = tool {
            calendar.calendar_api_key.0 = secret(&calendar.calendar_api_key.0);
        }
        tool.repeat();
    }
    tools
}

const NAMES: [&str; 2] = ["calendar_api_key", "calcom_api_key"];

/// Replaces masked keys of an update with the stored ones; returns the indexes of tools whose mask matches none.
///
/// Two keys may have the same mask: the one at the same index is tried first, and each key is used once.
pub fn restore(supplied: &mut Members, stored: &[BuiltInTool]) -> Vec<usize> {
    let mut known: Vec<Option<&str>> = stored.iter().map(key_of).collect();
    let Some((_, Value::List(tools))) = supplied.0.iter_mut().find(|(name, _)| name == "tools") else {
        return Vec::new();
    };
    let mut masked: Vec<(usize, &mut String)> = tools
        .iter_mut()
        .enumerate()
        .filter_map(|(at, tool)| Some((at, sent_key(tool)?)))
        .filter(|(_, sent)| sent.starts_with("****"))
        .collect();
    masked.retain_mut(|(at, sent)| match known.get_mut(*at).and_then(|key| key.take_if(|key| secret(key) == **sent)) {
        Some(key) => {
            **sent = key.to_string();
            false
        }
        None => true,
    });
    masked.retain_mut(|(_, sent)| match known.iter_mut().find_map(|key| key.take_if(|key| secret(key) == **sent)) {
        Some(key) => {
            **sent = key.to_string();
            false
        }
        None => true,
    });
    masked.into_iter().map(|(at, _)| at).collect()
}

fn sent_key(tool: &mut Value) -> Option<&mut String> {
    let Value::Object(members) = tool else { return None };
    match members.0.iter_mut().find(|(name, _)| NAMES.contains(&name.as_str())) {
        Some((_, Value::Text(sent))) => Some(sent),
        _ => None,
    }
}

fn key_of(tool: &BuiltInTool) -> Option<&str> {
    match tool {
        BuiltInTool::CalendarIntegration(calendar) => Some(&calendar.calendar_api_key.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_four_characters_at_most() {
        assert_eq!(secret("cal_live_0123456789wxyz"), "****wxyz");
        assert_eq!(secret("elevenchars"), "****");
    }
}
