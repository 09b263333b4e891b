//! Values from a conversation: arguments of tools, and variables extracted after the call.
//!
//! A variable of the call with the same name and type is used unchanged; otherwise the name of the value suggests what
//! would be plausible, and a draw picks among the plausible values.

use jiff::civil::Date;
use serde_json::{Map, Value, json};

use super::draw::Draw;
use super::lines;
use crate::call::{CallInfo, Function};

/// Whether a call reached its goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The customer agreed to the assistant's request.
    Agreed,
    /// The customer refused the assistant's request.
    Refused,
    /// There was no conversation in which to reach it.
    Unreached,
}

/// Facts from which values are made.
pub struct CallFacts<'s> {
    /// The call as it was claimed.
    pub call: &'s CallInfo,
    /// Source of the call's draws.
    pub draw: &'s Draw,
    /// The customer's name, from the call's variables or drawn.
    pub customer: &'s str,
    /// What was talked about last.
    pub topic: &'s str,
    /// Outcome of the conversation.
    pub goal: Goal,
}

const NOT_GIVEN: &str = "not given";

impl CallFacts<'_> {
    /// Returns a value for each entry of the assistant's `post_call_schema`.
    pub fn extracted(&self) -> Map<String, Value> {
        let extracts = &self.call.assistant.extracts;
        extracts.iter().map(|extract| (extract.name.clone(), self.value(&extract.name, &extract.kind))).collect()
    }

    /// Returns arguments for a tool: one for each property of its schema.
    pub fn arguments(&self, tool: &Function) -> Map<String, Value> {
        let Some(properties) = tool.parameters["properties"].as_object() else { return Map::new() };
        properties.iter().map(|(name, schema)| (name.clone(), self.argument(name, schema))).collect()
    }

    fn argument(&self, name: &str, schema: &Value) -> Value {
        if let Some(allowed) = schema["enum"].as_array().filter(|allowed| !allowed.is_empty()) {
            return self.draw.pick(name, allowed).clone();
        }
        // `type` may be a list; its first entry counts.
        let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or("string");
        self.value(name, kind)
    }

    /// Returns a value of a type of `post_call_schema` or JSON Schema.
    pub fn value(&self, name: &str, kind: &str) -> Value {
        let known = self.call.variables.get(name);
        match kind {
            "number" | "integer" => {
                known.filter(|value| value.is_number()).cloned().unwrap_or_else(|| self.number(name).into())
            }
            "bool" | "boolean" => known
                .filter(|value| value.is_boolean() && self.goal == Goal::Agreed)
                .cloned()
                .unwrap_or_else(|| (self.goal == Goal::Agreed).into()),
            "array" => json!([]),
            "object" => json!({}),
            _ => known.filter(|value| value.is_string()).cloned().unwrap_or_else(|| self.text(name).into()),
        }
    }

    fn number(&self, name: &str) -> u32 {
        let any = |words: &[&str]| words.iter().any(|word| name.contains(word));
        match self.goal {
            Goal::Refused if any(&["rating", "score", "satisfaction"]) => self.draw.between(name, 1, 3),
            Goal::Refused | Goal::Unreached => 0,
            Goal::Agreed if any(&["rating", "score", "satisfaction"]) => self.draw.between(name, 7, 10),
            Goal::Agreed if any(&["price", "amount", "budget", "cost", "total"]) => self.draw.between(name, 5, 95) * 10,
            Goal::Agreed if any(&["age"]) => self.draw.between(name, 24, 67),
            Goal::Agreed if any(&["percent"]) => self.draw.between(name, 1, 10) * 10,
            Goal::Agreed => self.draw.between(name, 1, 6),
        }
    }

    fn text(&self, name: &str) -> String {
        self.certain(name).or_else(|| self.agreed(name)).unwrap_or_else(|| NOT_GIVEN.into())
    }

    /// Returns a value that is known however the call went.
    fn certain(&self, name: &str) -> Option<String> {
        let any = |words: &[&str]| words.iter().any(|word| name.contains(word));
        let by_goal = |texts: [&str; 3]| {
            texts[match self.goal {
                Goal::Agreed => 0,
                Goal::Refused => 1,
                Goal::Unreached => 2,
            }]
            .to_string()
        };
        if any(&["phone", "mobile"]) {
            return Some(self.call.customer_phone.clone().unwrap_or_else(|| NOT_GIVEN.into()));
        }
        if any(&["sentiment", "mood"]) {
            return Some(by_goal(["positive", "negative", "neutral"]));
        }
        if any(&["outcome", "result", "status"]) {
            return Some(by_goal(["agreed", "refused", "not reached"]));
        }
        if any(&["summary", "note", "comment", "feedback"]) {
            return Some(lines::summary(self));
        }
        (self.goal != Goal::Unreached && any(&["name", "customer", "caller"])).then(|| self.customer.to_string())
    }

    /// Returns a value that only a customer who agrees would reveal.
    fn agreed(&self, name: &str) -> Option<String> {
        if self.goal != Goal::Agreed {
            return None;
        }
        let any = |words: &[&str]| words.iter().any(|word| name.contains(word));
        Some(if any(&["mail"]) {
            self.mail()
        } else if any(&["date", "day"]) {
            self.next_day()
        } else if any(&["time", "hour"]) {
            format!("{:02}:{}", self.draw.between(name, 9, 17), self.draw.pick(name, &["00", "15", "30", "45"]))
        } else if any(&["address", "street"]) {
            format!("{} {}", self.draw.between(name, 2, 98), self.draw.pick(name, &lines::STREETS))
        } else if any(&["city", "town", "place", "location"]) {
            (*self.draw.pick(name, &lines::CITIES)).into()
        } else {
            self.topic.into()
        })
    }

    fn mail(&self) -> String {
        let known = self.call.variables.get("email").and_then(Value::as_str).filter(|mail| mail.contains('@'));
        known.map_or_else(
            || {
                let plain: String = self.customer.to_lowercase().split_whitespace().collect::<Vec<_>>().join(".");
                format!("{plain}@example.com")
            },
            String::from,
        )
    }

    /// Returns the day after the call was made, `YYYY-MM-DD`.
    fn next_day(&self) -> String {
        let made = self.call.created_at.get(..10).and_then(|day| day.parse::<Date>().ok());
        made.and_then(|day| day.tomorrow().ok()).map_or_else(|| "tomorrow".into(), |day| day.to_string())
    }
}
