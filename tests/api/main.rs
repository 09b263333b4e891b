//! The wire contract, in the order of docs/api.md: one file for each section.

#![recursion_limit = "256"]

mod account;
mod assistants;
mod budgets;
mod built_in_tools;
mod calls;
mod campaigns;
mod carrier;
mod conventions;
mod copies;
mod deleted;
mod detaching;
mod dialer;
mod engine;
mod filled;
mod first_use;
mod folders;
mod headers;
mod histories;
mod idempotency;
mod import_files;
mod imports;
mod ingestion;
mod jobs;
mod kept;
mod knowledge;
mod leads;
mod lists;
mod logins;
mod lookups;
mod messages;
mod numbers;
mod operator;
mod recall;
mod refusals;
mod routes;
mod silence;
mod spec;
mod states;
mod storage;
mod suppression;
mod tables;
mod tools;
mod unknown_members;
mod webhooks;
