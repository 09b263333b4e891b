//! The phone numbers of an imported record, brought to E.164 as far as they can be read.

use alloc::format;
use alloc::string::String;

use crate::json::{Members, Value};
use crate::numbering::dialing::{DialingCountry, Unread};
use crate::record::Errors;
use crate::record::format::dialed;

const NO_COUNTRY: &str = "field must be a phone number in E.164 format; national ones need a default_country.";

/// Rewrites the numbers of a lead and of its secondary contacts: blanks, dots, dashes and brackets are dropped behind a
/// `+`, and a number without one is read as one of `home`. Returns why one could not be read, by its field; its text is
/// left as it is.
pub fn read(members: &mut Members, home: Option<DialingCountry>) -> Errors {
    let mut unread = Errors::default();
    read_below("", members, home, &mut unread);
    unread
}

/// Says of the numbers that could not be read why that is, in place of what else is wrong with them.
pub fn explain(errors: &mut Errors, unread: Errors) {
    for (field, why) in unread.0 {
        if let Some((_, sentences)) = errors.0.iter_mut().find(|(known, _)| *known == field) {
            *sentences = why;
        }
    }
}

fn read_below(path: &str, members: &mut Members, home: Option<DialingCountry>, unread: &mut Errors) {
    for (name, value) in &mut members.0 {
        match (name.as_str(), value) {
            ("phone_number", Value::Text(number)) => match home.filter(|_| !number.trim().starts_with('+')) {
                _ if number.is_empty() => {}
                None => {
                    if !number.trim().starts_with('+') {
                        unread.say(&format!("{path}phone_number"), NO_COUNTRY);
                    }
                    *number = dialed(number);
                }
                Some(home) => match home.e164(number) {
                    Ok(read) => *number = read,
                    Err(why) => unread.say(&format!("{path}phone_number"), &says(home, &why)),
                },
            },
            ("secondary_contacts", Value::List(contacts)) if path.is_empty() => {
                for (at, contact) in contacts.iter_mut().enumerate() {
                    if let Value::Object(contact) = contact {
                        read_below(&format!("secondary_contacts.{at}."), contact, home, unread);
                    }
                }
            }
            _ => {}
        }
    }
}

fn says(home: DialingCountry, why: &Unread) -> String {
    match why {
        Unread::NoNumber => {
            format!("field must be a phone number in E.164 format, or one as it is written in {}.", home.iso)
        }
        Unread::Ambiguous(one, other) => {
            format!("field may be {one} or {other}: please write it with + and its calling code.")
        }
    }
}
