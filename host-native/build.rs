//! Packs the files of the console and of the API explorer, and the widget, each as it is sent: the binary holds them
//! compressed, with the tag of their content.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

/// Folders beside this file, and the names of the lists of their files.
const FOLDERS: [(&str, &str); 2] = [("../console", "CONSOLE"), ("docs-ui", "EXPLORER")];
/// Names of folders and files that are no part of what is served; so is what begins with a dot.
const LEFT_OUT: [&str; 8] =
    ["node_modules", "test", "widget", "package.json", "package-lock.json", "tsconfig.json", "versions.json", "NOTICE"];
/// Ends of names that are not served: documents, and types that no browser reads.
const LEFT_OUT_ENDS: [&str; 2] = [".md", ".d.ts"];
/// The modules of the widget, each after those that it imports from.
const WIDGET: [&str; 7] = ["text.js", "style.js", "conversation.js", "voice.js", "parts.js", "panel.js", "start.js"];

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo names no folder for what is built")?);
    let mut lists = String::new();
    for (folder, name) in FOLDERS {
        let base = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        // Not the whole folder: tools that are installed into it change nothing.
        for served in entries(&base)? {
            println!("cargo::rerun-if-changed={}", served.display());
        }
        writeln!(lists, "/// Files of `{folder}`, in the order of their paths.")?;
        writeln!(lists, "pub static {name}: &[EmbeddedFile] = &[")?;
        for path in files(&base)? {
            writeln!(lists, "{},", PackedFile::of(&base, &path)?.written(&out)?)?;
        }
        writeln!(lists, "];")?;
    }
    let widget = PackedFile::named("widget.js".to_owned(), gzip(widget()?.as_bytes())?)?.written(&out)?;
    writeln!(lists, "/// The script that other pages load.\npub static WIDGET: EmbeddedFile = {widget};")?;
    Ok(fs::write(out.join("files.rs"), lists)?)
}

/// Returns the files of a folder and of those within it, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

/// Returns what a folder has that is served: files, and folders of them.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).ok_or("a file's name is not UTF-8")?;
        let is_left_out = LEFT_OUT.contains(&name) || LEFT_OUT_ENDS.iter().any(|end| name.ends_with(end));
        if !name.starts_with('.') && !is_left_out {
            found.push(path);
        }
    }
    Ok(found)
}

/// A file as it is kept in the binary.
struct PackedFile {
    /// Path within its folder, as in a URL.
    path: String,
    media: &'static str,
    /// First half of the SHA-256 of `bytes`, hexadecimal.
    digest: String,
    /// The content, gzip.
    bytes: Vec<u8>,
}

impl PackedFile {
    /// Reads a file; one that ends in `.gz` is packed already.
    fn of(base: &Path, path: &Path) -> Result<Self, Box<dyn Error>> {
        let content = fs::read(path)?;
        let named = path.strip_prefix(base)?.to_str().ok_or("a file's path is not UTF-8")?.replace('\\', "/");
        let (path, bytes) = match named.strip_suffix(".gz") {
            Some(inner) => (inner.to_owned(), content),
            None => (named, gzip(&content)?),
        };
        Self::named(path, bytes)
    }

    /// Gives a file its type and its digest.
    fn named(path: String, bytes: Vec<u8>) -> Result<Self, Box<dyn Error>> {
        let media = media_type(&path).ok_or_else(|| format!("{path}: no media type is known for it"))?;
        let digest =
            Sha256::digest(&bytes).iter().take(16).fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        Ok(Self { path, media, digest, bytes })
    }

    /// Writes its bytes into a folder; returns the expression that takes it into the binary.
    fn written(&self, out: &Path) -> Result<String, Box<dyn Error>> {
        let Self { path, media, digest, bytes } = self;
        fs::write(out.join(digest), bytes)?;
        let packed = format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{digest}\"))");
        let etag = format!("\"\\\"{digest}\\\"\"");
        Ok(format!("EmbeddedFile {{ path: {path:?}, media: {media:?}, etag: {etag}, packed: {packed} }}"))
    }
}

/// Joins the modules of the widget into one script in a scope of its own, without comments and without what they import
/// from each other and export: a page that names one address in its content security policy can load it, as a module and
/// as a plain script.
fn widget() -> Result<String, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../console/widget");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut script = String::from("(() => {\n\"use strict\";\n");
    for name in WIDGET {
        // How what is left out ends; an empty end is that of the same line.
        let mut left_out = None;
        for line in fs::read_to_string(folder.join(name)).map_err(|error| format!("{name}: {error}"))?.lines() {
            let text = line.trim_start();
            let is_cast = text.contains("*/") && !text.ends_with("*/");
            let end = left_out.or(match text {
                _ if line.starts_with("import ") => Some(";"),
                _ if text.starts_with("/**") && !is_cast => Some("*/"),
                _ if text.starts_with("//") || text.is_empty() => Some(""),
                _ => None,
            });
            match end {
                Some(end) => left_out = (!line.ends_with(end)).then_some(end),
                None => writeln!(script, "{}", line.strip_prefix("export ").unwrap_or(line))?,
            }
        }
    }
    script.push_str("})();\n");
    Ok(script)
}

fn gzip(content: &[u8]) -> Result<Vec<u8>, std::io::Error> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(content)?;
    packed.finish()
}

/// Returns the media type of a file by the end of its name; `None` if it is not known.
fn media_type(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    Some(match name.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("wasm") => "application/wasm",
        Some("txt") => "text/plain; charset=utf-8",
        None if name.starts_with("LICENSE") => "text/plain; charset=utf-8",
        _ => return None,
    })
}
