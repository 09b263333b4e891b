//! Files of a site for crawlers: `robots.txt`, and the links of its pages.
//!
//! The first line of an input is a path, the second the base URL of links; the rest is the file.

use switchboard_core::knowledge::links::follow;
use switchboard_core::knowledge::robots::Robots;
use switchboard_sim::random::Random;

use super::{Seen, Target, mutated};
use crate::{corpus, mutate};

const PAGE: &str = "https://site.example/a/b?c=d";

/// Target `robots`: crawler files and links.
pub struct RobotsFiles {
    corpus: Vec<Vec<u8>>,
}

impl RobotsFiles {
    /// Creates the target with its corpus.
    pub fn new() -> Self {
        Self { corpus: corpus::of("robots") }
    }
}

impl Target for RobotsFiles {
    fn name(&self) -> &'static str {
        "robots"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| {
            let paths = [
                "/",
                "/a",
                "/a/b?c",
                "/%61",
                "/é",
                "",
                "*",
                "/a*b$",
                "//x.example/",
                "mailto:a@b",
                "/x.PDF",
                "http://site.example/",
            ];
            let mut text = format!("{}\n{}\n", random.one(&paths), random.one(&paths));
            for _ in 0..random.below(8) {
                let field = random.one(&["User-agent", "allow", "Disallow", "DISALLOW ", "Sitemap", "", "#"]);
                let value = random.one(&["*", "switchboard", "/", "/a*", "/*b$", "$", "", "/%zz", "/é", "***a***b"]);
                let (parted, end) = (random.one(&[": ", " ", ":  "]), random.one(&["\n", "\r\n", "\r", " # x\n"]));
                text.extend([field, parted, value, end]);
            }
            let mut bytes = text.into_bytes();
            if random.chance(400) {
                mutate::bytes(random, &mut bytes);
            }
            bytes
        })
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        let mut lines = input.splitn(3, |byte| *byte == b'\n');
        let mut text = || lines.next().map(String::from_utf8_lossy).unwrap_or_default().into_owned();
        let (path, base) = (text(), text());
        let file = input.splitn(3, |byte| *byte == b'\n').nth(2).unwrap_or_default();
        let robots = Robots::parse(file);
        if robots == Robots::default() && !robots.allows(&path) {
            return Err("without a rule everything is open".into());
        }
        let found =
            follow(PAGE, Some(&base), &[path.clone(), base.clone(), String::from_utf8_lossy(file).into_owned()]);
        if let Some(other) = found.iter().find(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
            return Err(format!("{other} is followed"));
        }
        let said = if robots.allows(&path) { "open" } else { "closed" };
        Ok(Seen { said: said.into(), kind: format!("{said} {}", found.len()) })
    }
}
