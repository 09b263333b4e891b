//! The structure of the code, checked on its sources: dependencies point downwards, and a public name belongs to one
//! type.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::chores::root;

/// The folders and files of the core from the bottom up: each uses only those on lower floors. So `http` and `job` name
/// no resource, and `service` alone knows all of them.
const FLOORS: &[&[&str]] = &[
    &["checksum", "egress", "limits", "numbered", "object", "seed", "state", "template", "time"],
    &["zip"],
    &["json", "key", "rate", "zone"],
    &["id", "view"],
    &["store"],
    &["memory"],
    &["collection"],
    &["filing", "record"],
    &["catalogue", "numbering", "outside"],
    &["carrier", "llm", "root", "work"],
    &["setup"],
    &["job", "settings"],
    &["http"],
    &["step"],
    // The resources.
    &["account", "suppression", "whatsapp"],
    &["budget", "number"],
    &["admin", "assistant", "sms"],
    &["folder", "knowledge", "tool", "webhook"],
    &["call", "campaign", "lead"],
    &["engine", "import"],
    &["conversation"],
    &["service"],
    &["remote", "verify"],
];

/// The business cycle, the only one between folders: ending a call moves its lead and its campaign, stopping a campaign
/// ends its calls, and a lead that changes cancels its call. The list may only shrink.
const CIRCLE: &[&str] = &["call", "campaign", "lead"];

/// Names of types that stand in two shells of one interface, for another version of WASI or another language. The list
/// may only shrink.
const SHARED: &[&str] = &["Receiving", "Sending", "Service"];

/// Returns all source files of these folders but tests: path, and text without comments and unit tests.
fn sources(folders: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut left: Vec<_> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(path) = left.pop() {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !["tests", "target", "node_modules"].contains(&name) {
            left.extend(std::fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        } else if path.extension().is_some_and(|ending| ending == "rs") && name != "tests.rs" {
            let text = std::fs::read_to_string(&path).expect("a source file");
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
            found.push((path.display().to_string(), lines.collect::<Vec<_>>().join("\n")));
        }
    }
    assert!(!found.is_empty(), "there are sources");
    found
}

/// Returns the modules of the crate's root that a text names: `crate::name`, and each name of `crate::{…}`.
fn named(text: &str) -> BTreeSet<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let paths = text.split("crate::").skip(1);
    paths
        .flat_map(|rest| rest.strip_prefix('{').map_or_else(|| vec![rest.into()], entries))
        .map(|path| word(&path))
        .collect()
}

/// Returns the entries of an import group, from after its opening brace.
fn entries(group: &str) -> Vec<String> {
    let (mut depth, mut entries) = (0, vec![String::new()]);
    for c in group.chars() {
        match c {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => entries.push(String::new()),
            c if depth == 0 && !c.is_whitespace() => entries.last_mut().expect("it has one").push(c),
            _ => {}
        }
    }
    entries
}

/// Returns which folder or file of the core's root uses which, with one file that does.
fn uses() -> BTreeMap<(String, String), String> {
    let base = root().join("core/src").display().to_string();
    let mut uses = BTreeMap::new();
    for (path, text) in sources(&["core/src"]) {
        let inside = path.strip_prefix(&base).expect("a file of the core").trim_start_matches('/');
        let own = inside.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
        for name in named(&text) {
            if own != "lib" && name != own && is_module(&name) {
                uses.insert((own.clone(), name), inside.to_owned());
            }
        }
    }
    uses
}

fn is_module(name: &str) -> bool {
    let base = root().join("core/src");
    !name.is_empty() && (base.join(name).is_dir() || base.join(format!("{name}.rs")).is_file())
}

#[test]
fn floors_look_down() {
    let floor = |name: &str| FLOORS.iter().position(|floor| floor.contains(&name));
    for ((own, used), file) in uses() {
        let (Some(from), Some(to)) = (floor(&own), floor(&used)) else {
            panic!("{file}: {own} or {used} has no floor");
        };
        let is_business = CIRCLE.contains(&own.as_str()) && CIRCLE.contains(&used.as_str());
        assert!(to < from || is_business, "{file} uses {used}, which does not stand below {own}");
    }
    for name in FLOORS.concat() {
        assert!(is_module(name), "{name} is not there any more: take it off its floor");
    }
}

#[test]
fn the_business_circle_is_no_larger_than_it_must_be() {
    let uses = uses();
    for name in CIRCLE {
        let mut reached = BTreeSet::from([*name]);
        let mut is_back = false;
        for _ in CIRCLE {
            let next = uses.keys().filter(|(own, _)| reached.contains(own.as_str()));
            let next: Vec<_> = next.filter_map(|(_, used)| CIRCLE.iter().find(|known| *known == used)).collect();
            is_back |= next.contains(&name);
            reached.extend(next);
        }
        assert!(is_back, "{name} is in no circle any more: take it off the list");
    }
}

#[test]
fn a_public_name_is_of_one_type() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in sources(&["core", "host-native/src", "host-wasm", "engines"]) {
        for line in text.lines() {
            let reach = ["pub ", "pub(super) ", "pub(crate) "];
            let Some(rest) = reach.iter().find_map(|reach| line.trim_start().strip_prefix(reach)) else { continue };
            let rest = rest.strip_prefix("sparse ").unwrap_or(rest);
            let kinds = ["struct ", "enum ", "trait ", "type "];
            let Some(rest) = kinds.iter().find_map(|kind| rest.strip_prefix(kind)) else { continue };
            let name = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            // In a macro, the name comes from its caller.
            if name.is_empty() {
                continue;
            }
            let place = Path::new(&path).strip_prefix(root()).unwrap_or(Path::new(&path)).display().to_string();
            places.entry(name.to_owned()).or_default().push(place);
        }
    }
    for (name, places) in &places {
        assert!(places.len() == 1 || SHARED.contains(&name.as_str()), "{name} is {}", places.join(" and "));
    }
    for name in SHARED {
        let count = places.get(*name).map_or(0, Vec::len);
        assert!(count > 1, "{name} is of one type at most: take it off the list");
    }
}
