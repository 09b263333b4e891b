//! [`States`]: what moves a resource from one state to another, as a table (docs/api.md, States).

/// Rows of *from*, *event*, *to*. What has no row is refused, and changes nothing.
pub struct States<S: 'static, E: 'static>(pub &'static [(S, E, S)]);

impl<S: Copy + PartialEq, E: Copy + PartialEq> States<S, E> {
    /// Where an event leads, if the state allows it.
    pub fn next(&self, from: S, event: E) -> Option<S> {
        self.0.iter().find(|(state, moved, _)| *state == from && *moved == event).map(|(_, _, to)| *to)
    }
}
