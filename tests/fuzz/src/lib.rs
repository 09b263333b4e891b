//! Drawn and mutated inputs into everything that reads what others wrote: no panic, and no broken promise.
//!
//! A [`target::Target`] draws inputs from chance and a corpus of small files, and judges what came of one. An input
//! is bytes, so that any can be kept as a file and made smaller; a seed and a number give the same input on every
//! machine. [`run`] gives targets their inputs on all cores, [`shrink`] makes a failing one small. `cargo xtask fuzz`
//! runs any number; a million are among the tests.

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
