//! The proof that all hosts agree.
//!
//! A [`script::Script`] is a list of inputs with their times and seeds: requests, ticks, and answers to sends. Every
//! host plays it; what it [`said`] line by line, and its rows at the end, must be equal byte for byte. [`scene`]
//! records one script over all operations, [`history`] draws any number of random ones, and [`agree`] plays those.

pub mod agree;
pub mod history;
pub mod measure;
pub mod outside;
pub mod said;
pub mod scene;
pub mod script;
pub mod stage;
pub mod subject;
