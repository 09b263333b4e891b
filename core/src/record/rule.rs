//! Rules between the members of one record, as data: the checks, the schema and the generators read them.

use super::Literal;
use super::format::Format;

/// A condition on one member.
#[derive(Clone, Copy, Debug)]
pub struct When {
    /// The member looked at.
    pub field: &'static str,
    /// Its values for which the rule holds: words, or `true`.
    pub is: &'static [&'static str],
    /// Whether the rule holds for every other value instead, and when the member is not given.
    pub unless: bool,
}

/// What holds between members. A rule is left out while a member it looks at fails by itself.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// The member must be given.
    Require(&'static str, When),
    /// The member has this value; the sentence says so.
    Fixed(&'static str, Literal, &'static str, When),
    /// At least one of the members must be given; the error stands on the first.
    OneOf(&'static [&'static str], When),
    /// The text has this form.
    Form(&'static str, &'static Format, When),
    /// The first text sorts before the second; the error stands on the second.
    Ordered(&'static str, &'static str, Strictness, &'static str),
}

/// Whether equal values are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// They are.
    OrEqual,
    /// They are not.
    Strict,
}

/// The member must be given when another has one of these values.
pub const fn require(field: &'static str, when: &'static str, is: &'static [&'static str]) -> Rule {
    Rule::Require(field, When { field: when, is, unless: false })
}

/// The text has this form unless another member has one of these values.
pub const fn form_unless(
    field: &'static str,
    form: &'static Format,
    unless: &'static str,
    is: &'static [&'static str],
) -> Rule {
    Rule::Form(field, form, When { field: unless, is, unless: true })
}

/// The member has this value when another has one of these.
pub const fn fixed(
    field: &'static str,
    value: Literal,
    says: &'static str,
    when: &'static str,
    is: &'static [&'static str],
) -> Rule {
    Rule::Fixed(field, value, says, When { field: when, is, unless: false })
}

/// One of the members must be given when another has one of these values.
pub const fn one_of(fields: &'static [&'static str], when: &'static str, is: &'static [&'static str]) -> Rule {
    Rule::OneOf(fields, When { field: when, is, unless: false })
}

/// Two texts whose byte order is their order: dates, times of day.
pub const fn ordered(low: &'static str, high: &'static str, strictness: Strictness, says: &'static str) -> Rule {
    Rule::Ordered(low, high, strictness, says)
}
