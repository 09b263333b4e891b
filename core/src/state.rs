//! [`States`]: the transitions of a resource between its states, as a table (docs/api.md, States).

/// Transitions: rows of *from*, *event*, *to*. An event without a row is refused and changes nothing.
pub struct States<S: 'static, E: 'static>(pub &'static [(S, E, S)]);

impl<S: Copy + PartialEq, E: Copy + PartialEq> States<S, E> {
    /// Returns the state to which an event leads, if `from` allows it.
    pub fn next(&self, from: S, event: E) -> Option<S> {
        self.0.iter().find(|(state, moved, _)| *state == from && *moved == event).map(|(_, _, to)| *to)
    }
}
