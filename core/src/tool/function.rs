//! Function definitions for models.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::json::{Members, Value};

/// Parameter of a function.
#[derive(Clone, Copy, Debug)]
pub struct FunctionParameter<'p> {
    /// Name of the argument.
    pub name: &'p str,
    /// JSON Schema type of its value.
    pub kind: &'p str,
    /// Tells the model what it is.
    pub description: &'p str,
    /// The values to choose from; any value if empty.
    pub options: &'p [String],
    /// Whether each call must give it.
    pub required: bool,
}

impl<'p> FunctionParameter<'p> {
    /// Returns a required parameter of any value, from its name, type and description.
    pub const fn required((name, kind, description): (&'p str, &'p str, &'p str)) -> Self {
        Self { name, kind, description, options: &[], required: true }
    }

    fn schema(&self) -> Value {
        let mut members = Vec::from([("type", text(self.kind)), ("description", text(self.description))]);
        if !self.options.is_empty() {
            members.push(("enum", Value::List(self.options.iter().map(|option| text(option)).collect())));
        }
        object(members)
    }
}

/// Builds a function definition with a JSON Schema; `parameters` are name, type and description, all required.
pub fn schema_of(name: &str, description: &str, parameters: &[(&str, &str, &str)]) -> Value {
    function_of(name, description, parameters.iter().copied().map(FunctionParameter::required))
}

/// Builds a function definition with a JSON Schema.
pub fn function_of<'p>(
    name: &str,
    description: &str,
    parameters: impl Iterator<Item = FunctionParameter<'p>>,
) -> Value {
    let (mut properties, mut required) = (Vec::new(), Vec::new());
    for parameter in parameters {
        properties.push((parameter.name, parameter.schema()));
        required.extend(parameter.required.then(|| text(parameter.name)));
    }
    let schema = object(Vec::from([
        ("type", text("object")),
        ("properties", object(properties)),
        ("required", Value::List(required)),
    ]));
    object(Vec::from([("name", text(name)), ("description", text(description)), ("parameters", schema)]))
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn object(members: Vec<(&str, Value)>) -> Value {
    Value::Object(Members(members.into_iter().map(|(name, value)| (name.to_string(), value)).collect()))
}
