//! The columns of a CSV file: their names by header and mapping, and the members that a record's cells become.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::rows::Target;
use crate::http::csv::text_of;
use crate::json::{self, Members, ToJson, Value};
use crate::lead::tables::Lead;
use crate::limits::{VARIABLE_NAME_MAX, VARIABLES_MAX};
use crate::record::{Errors, Record};
use crate::template;
use crate::view::Stop;

/// Most characters of a header that an error shows.
const HEADERS_SHOWN: usize = 200;
/// Column that every file must have.
const PHONE: &str = "phone_number";
/// Second column of an import of numbers not to be called.
const REASON: &str = "reason";

/// Member names of the columns, in order; a column without a name must be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns(Vec<String>);

/// Parsed `mapping`: pairs of header and member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping<'q>(Vec<(&'q str, &'q str)>);

impl<'q> Mapping<'q> {
    /// Parses the `mapping` of a query.
    pub fn of(text: &'q str) -> Result<Self, Errors> {
        let mut errors = Errors::default();
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for pair in text.split(',') {
            let (header, member) = pair.rsplit_once([':', '=']).unwrap_or((pair, ""));
            let (header, member) = (header.trim(), member.trim());
            if header.is_empty() || member.is_empty() {
                errors.say("mapping", "field must be pairs like Header:member, separated by commas.");
                break;
            }
            if pairs.iter().any(|(known, _)| *known == header) {
                errors.say("mapping", &format!("field names the column {header} twice."));
            }
            pairs.push((header, member));
        }
        if errors.is_empty() { Ok(Self(pairs)) } else { Err(errors) }
    }
}

impl Columns {
    /// Resolves the columns of a header; the errors name every mistake in it.
    pub fn of(header: &[impl AsRef<str>], mapping: &Mapping<'_>, target: Target) -> Result<Self, Errors> {
        let headers: Vec<&str> = header.iter().map(|name| name.as_ref().trim()).collect();
        let mut errors = Errors::default();
        for (name, member) in &mapping.0 {
            if !headers.contains(name) {
                errors.say("mapping", &format!("field names the column {name}, which the file does not have."));
            }
            if target == Target::Numbers && ![PHONE, REASON].contains(member) {
                errors.say("mapping", &format!("field names the member {member}, which there is not."));
            } else if variable_name(member) != *member {
                errors.say("mapping", &format!("field names the member {member}, which cannot be a variable's name."));
            }
        }
        let names = headers.iter().map(|name| {
            let mapped = mapping.0.iter().find(|(header, _)| header == name);
            mapped.map_or_else(|| variable_name(name), |(_, member)| (*member).to_string())
        });
        let names: Vec<String> = names.collect();
        if headers.iter().any(|name| name.chars().any(char::is_control)) {
            errors.add("file", "The name of a column holds control characters; the file must be UTF-8 text.");
        }
        if !names.iter().any(|name| name == PHONE) {
            errors.add("file", no_phone(&headers));
        }
        check_names(&names, target, &mut errors);
        if errors.is_empty() { Ok(Self(names)) } else { Err(errors) }
    }

    /// Returns the member that each column becomes.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Serializes the names for storage.
    pub fn to_json(&self) -> Vec<u8> {
        self.0.to_json()
    }

    /// Parses the names from storage.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Stop> {
        const DAMAGED: Stop = Stop::Corrupt("the columns of an import have an unknown form");
        let value = json::parse(bytes).map_err(|_| DAMAGED)?;
        let names = value.as_list().ok_or(DAMAGED)?.iter().map(|name| name.as_text().map(ToString::to_string));
        Ok(Self(names.collect::<Option<_>>().ok_or(DAMAGED)?))
    }

    /// Returns whether the file is a list of leads as the service writes it: then its variables and secondary contacts
    /// are JSON, and what the service assigns is passed over.
    fn is_list(&self) -> bool {
        self.0.iter().map(String::as_str).eq(Lead::TABLE.columns.iter().map(|column| column.name))
    }

    /// Builds the body for a record. Empty cells, and cells that the record lacks, are left out.
    pub fn members(&self, cells: &[Cow<'_, str>], target: Target) -> Result<Members, &'static str> {
        if matches!(target, Target::Leads { .. }) && self.is_list() {
            return Ok(self.listed(cells));
        }
        let (mut members, mut variables) = (Members::default(), Members::default());
        for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            let name = self.0.get(at).map_or("", String::as_str);
            let to = match (target, name) {
                (_, "") => return Err("The line has a value in a column without a name."),
                (_, PHONE) | (Target::Numbers, REASON) => &mut members,
                (Target::Numbers, _) => continue,
                (Target::Leads { .. }, _) => &mut variables,
            };
            // The header has no name twice: no need to search for it.
            to.0.push((name.to_string(), Value::Text(text_of(cell).to_string())));
        }
        if matches!(target, Target::Leads { .. }) {
            members.0.push((String::from("variables"), Value::Object(variables)));
        }
        Ok(members)
    }

    /// Builds the body for a lead of a list. Text that is no JSON is left to the check of the body to refuse.
    fn listed(&self, cells: &[Cow<'_, str>]) -> Members {
        let named = self.0.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
        let members = named.filter_map(|(name, cell)| {
            let text = text_of(cell);
            let value = match name.as_str() {
                PHONE => Value::Text(text.to_string()),
                "variables" | "secondary_contacts" => {
                    json::parse(text.as_bytes()).unwrap_or_else(|_| Value::Text(text.to_string()))
                }
                _ => return None,
            };
            Some((name.clone(), value))
        });
        Members(members.collect())
    }
}

/// Returns the variable that a header names: each run of characters that no name has becomes an underscore, so that
/// `First name` is `First_name`.
fn variable_name(header: &str) -> String {
    let words = header.split(|c: char| !template::is_of_name(c)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

/// Returns the sentence for a header without a phone number: which columns there are, and how to name one.
fn no_phone(headers: &[&str]) -> String {
    let shown: String = headers.join(", ").chars().take(HEADERS_SHOWN).collect();
    format!(
        "The file has no phone_number column. Its columns are: {shown}. If one of them holds the numbers, say so with \
         mapping=COLUMN:phone_number."
    )
}

fn check_names(names: &[String], target: Target, errors: &mut Errors) {
    if let Some(long) = names.iter().find(|name| name.chars().count() > VARIABLE_NAME_MAX) {
        errors.add("file", format!("The name of the column {long} is longer than {VARIABLE_NAME_MAX} characters."));
    }
    let mut sorted: Vec<&String> = names.iter().filter(|name| !name.is_empty()).collect();
    sorted.sort_unstable();
    if let Some([twice, _]) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        errors.add("file", format!("The file has more than one {twice} column."));
    }
    let variables = sorted.iter().filter(|name| **name != PHONE).count();
    if target != Target::Numbers && variables > VARIABLES_MAX {
        errors.add("file", format!("The file must not have more than {VARIABLES_MAX} columns besides phone_number."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEADS: Target = Target::Leads { campaign: 1, allow_dupplicate: false };

    fn columns(header: &[&str], mapping: &str, target: Target) -> Result<Vec<String>, String> {
        let mapping = if mapping.is_empty() { Ok(Mapping::default()) } else { Mapping::of(mapping) };
        let columns = mapping.and_then(|mapping| Columns::of(header, &mapping, target));
        columns.map(|columns| columns.0).map_err(|errors| errors.first().into())
    }

    #[test]
    fn headers_and_mappings_name_columns() {
        let cases: [(&[&str], &str, Target, &[&str]); 8] = [
            (&[" phone_number ", "customer_name"], "", LEADS, &["phone_number", "customer_name"]),
            (&["Nume", "Telefon"], "Telefon=phone_number", LEADS, &["Nume", "phone_number"]),
            (&["Nume", "Telefon", ""], "Telefon = phone_number,Nume=name", LEADS, &["name", "phone_number", ""]),
            (&["a=b", "phone_number"], "a=b=x", LEADS, &["x", "phone_number"]),
            (&["Name: first", "Tel"], "Name: first:name,Tel:phone_number", LEADS, &["name", "phone_number"]),
            (&["E-Mail (work)", "phone_number"], "", LEADS, &["E-Mail_work", "phone_number"]),
            (&["phone_number", "phone_number"], "phone_number=old", LEADS, &[]),
            (&["N", "W", "Else"], "N=phone_number,W=reason", Target::Numbers, &["phone_number", "reason", "Else"]),
        ];
        for (header, mapping, target, want) in cases {
            let got = columns(header, mapping, target);
            assert_eq!(got.unwrap_or_default(), want, "{header:?} {mapping}");
        }
    }

    #[test]
    fn what_is_wrong_with_them_is_said() {
        let many: Vec<String> = (0..=VARIABLES_MAX).map(|n| format!("c{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).chain(["phone_number"]).collect();
        let cases: [(&[&str], &str, Target, &str); 13] = [
            (
                &["Nume", "Tel"],
                "",
                LEADS,
                "columns are: Nume, Tel. If one of them holds the numbers, say so with mapping=COLUMN:",
            ),
            (&["phone_number", "a b", "a-", "a_b"], "", LEADS, "more than one a_b column"),
            (&["phone_number", "a"], "a=b c", LEADS, "the member b c, which cannot be a variable's name"),
            (&["phone_number", &"a".repeat(65)], "", LEADS, "is longer than 64 characters"),
            (&["p\0h"], "b=c", LEADS, "the column b, which the file does not have"),
            (&["phone_number", "a\0"], "", LEADS, "control characters"),
            (&["phone_number", "a", "a "], "", LEADS, "more than one a column"),
            (&["phone_number", "Telefon"], "Telefon=phone_number", LEADS, "more than one phone_number column"),
            (&many, "", LEADS, "more than 100 columns"),
            (&["phone_number"], "phone_number", LEADS, "pairs like"),
            (&["phone_number"], "=a", LEADS, "pairs like"),
            (&["phone_number", "b"], "b=c,b=d", LEADS, "the column b twice"),
            (&["phone_number", "b"], "b=why", Target::Numbers, "the member why, which there is not"),
        ];
        for (header, mapping, target, want) in cases {
            let says = columns(header, mapping, target).expect_err(want);
            assert!(says.contains(want), "{says}");
        }
        assert!(columns(&many, "", Target::Numbers).is_ok());
    }

    #[test]
    fn cells_become_members() {
        let columns = Columns(["", "phone_number", "reason", "x"].map(String::from).into());
        let read = |cells: &[&str], target| {
            let cells: Vec<Cow<'_, str>> = cells.iter().map(|cell| Cow::Borrowed(*cell)).collect();
            columns.members(&cells, target).map(|members| String::from_utf8(members.to_json()).expect("text"))
        };
        let cells = ["", "+1", "no", "y"];
        let lead = r#"{"phone_number":"+1","variables":{"reason":"no","x":"y"}}"#;
        assert_eq!(read(&cells, LEADS).as_deref(), Ok(lead));
        assert_eq!(read(&cells, Target::Numbers).as_deref(), Ok(r#"{"phone_number":"+1","reason":"no"}"#));
        assert_eq!(read(&["", "+1", "", ""], Target::Numbers).as_deref(), Ok(r#"{"phone_number":"+1"}"#));
        assert_eq!(read(&["", "+1", "", "", ""], LEADS).as_deref(), Ok(r#"{"phone_number":"+1","variables":{}}"#));
        assert!(read(&["", "+1", "", "", "z"], LEADS).is_err());
        assert!(read(&["z"], Target::Numbers).is_err());
        assert_eq!(Columns::from_json(&columns.to_json()), Ok(columns));
    }
}
