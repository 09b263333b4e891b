//! Runs every line of the tour, in order, against a fresh server: the README's, then `docs/tour.md`'s.

use std::process::Command;

use crate::server::{Folder, Server, binary, send};

const PAGES: [&str; 2] = [include_str!("../../README.md"), include_str!("../../docs/tour.md")];

/// Returns the tour's code blocks.
fn blocks() -> Vec<&'static str> {
    let pages = PAGES.iter().flat_map(|page| page.split("```sh tour\n").skip(1));
    pages.filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_tour_works() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &[]);
    let script = blocks()
        .concat()
        .replace("http://127.0.0.1:8080", server.text("url"))
        .replace("sbk_...", server.text("api_key"));
    assert!(script.matches("curl ").count() > 20, "the tour is there");
    let beside = binary().parent().expect("a folder").display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .env("PATH", format!("{beside}:{path}"))
        .current_dir(&folder.0)
        .output()
        .expect("bash runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    for shown in [
        "\"email\":\"owner@localhost\"",
        "Rachel",
        "Assistant created successfully",
        "Phone number purchased successfully.",
        "\"status\":\"initiated\"",
        "call.ended",
        "\"formatted_transcript\": \"AI: This is the simulated engine: it plays a script.",
        "AI: Hello, this is Anna.",
        "\"type\":\"answered\"",
        "Import started.",
        "Campaign started successfully.",
        "\"callable\":",
        "We open at nine.",
        "whsec_",
    ] {
        assert!(out.contains(shown), "{shown} is not in {out}");
    }
}

#[test]
fn the_document_is_served_as_it_stands_in_the_repository() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--engine", "none"]);
    let (status, _, served) = send("GET", &format!("{}/openapi.json", server.text("url")), "", &[], "");
    assert_eq!(status, 200);
    assert!(served == include_bytes!("../../openapi.json"), "the bytes that clients are made of");
}
