//! Fuzzing: random and mutated inputs for everything that parses foreign data; no panic, and no broken promise.
//!
//! A [`target::Target`] draws inputs at random and from a corpus of small files, and checks the result of each. An
//! input is bytes, so that any can be kept as a file and shrunk; a seed and a number give the same input on every
//! machine. [`run`] feeds targets on all cores, [`shrink`] shrinks a failing input. `cargo xtask fuzz` runs any number;
//! a million are among the tests.

pub mod answer;
pub mod body;
pub mod catch;
pub mod corpus;
pub mod draw;
pub mod exchange;
pub mod http;
pub mod layer;
pub mod mutate;
pub mod report;
pub mod run;
pub mod shrink;
pub mod target;
pub mod town;
