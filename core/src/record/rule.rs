//! Rules between the members of one record, as data: the checks, the schema and the generators read them.

use super::Literal;
use super::format::Format;

/// Condition of a rule on one member.
#[derive(Clone, Copy, Debug)]
pub struct When {
    /// Name of the member that is looked at.
    pub field: &'static str,
    /// Values of the member for which the rule applies: words, `true` or `false`.
    pub is: &'static [&'static str],
    /// Whether the rule applies to all other values instead, and when the member is absent.
    pub unless: bool,
}

/// Rule between members. It is skipped while a member that it looks at fails its own check.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// The member must be present.
    Require(&'static str, When),
    /// The member, when present, must have this value; the text is the error sentence.
    Fixed(&'static str, Literal, &'static str, When),
    /// At least one of the members must be present; the error names the first.
    OneOf(&'static [&'static str], When),
    /// The text must have this format.
    Form(&'static str, &'static Format, When),
    /// The first text must sort before the second; the error names the second and ends with the last text.
    Ordered(&'static str, &'static str, Strictness, &'static str),
}

/// Whether equal values are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Equal values are in order.
    OrEqual,
    /// Equal values are an error.
    Strict,
}

/// Requires `field` when the member `when` has one of these values.
pub const fn require(field: &'static str, when: &'static str, is: &'static [&'static str]) -> Rule {
    Rule::Require(field, When { field: when, is, unless: false })
}

/// Requires a format of the text of `field` unless another member has one of these values.
pub const fn form_unless(
    field: &'static str,
    form: &'static Format,
    unless: &'static str,
    is: &'static [&'static str],
) -> Rule {
    Rule::Form(field, form, When { field: unless, is, unless: true })
}

/// Requires a format of the text of `field` when another member has one of these values.
pub const fn form_if(
    field: &'static str,
    form: &'static Format,
    when: &'static str,
    is: &'static [&'static str],
) -> Rule {
    Rule::Form(field, form, When { field: when, is, unless: false })
}

/// Requires `value` of `field` when the member `when` has one of these values; `says` is the error sentence.
pub const fn fixed(
    field: &'static str,
    value: Literal,
    says: &'static str,
    when: &'static str,
    is: &'static [&'static str],
) -> Rule {
    Rule::Fixed(field, value, says, When { field: when, is, unless: false })
}

/// Requires at least one of `fields` when the member `when` has one of these values.
pub const fn one_of(fields: &'static [&'static str], when: &'static str, is: &'static [&'static str]) -> Rule {
    Rule::OneOf(fields, When { field: when, is, unless: false })
}

/// Requires at least one of `fields`.
pub const fn any_of(fields: &'static [&'static str]) -> Rule {
    Rule::OneOf(fields, When { field: "", is: &[], unless: true })
}

/// Requires that the text of `low` sorts before that of `high`, for texts whose byte order is their order: dates, times
/// of day.
pub const fn ordered(low: &'static str, high: &'static str, strictness: Strictness, says: &'static str) -> Rule {
    Rule::Ordered(low, high, strictness, says)
}
