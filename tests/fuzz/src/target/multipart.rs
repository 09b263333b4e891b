//! Uploads: multipart forms with valid and invalid headers, boundaries and files.

use switchboard_core::http::request::Method;
use switchboard_sim::random::Random;

use super::{Seen, Target, mutated};
use crate::http::Text;
use crate::town::Town;
use crate::{corpus, mutate};

/// Target `multipart`: uploads of documents and of imports.
pub struct Forms<'t> {
    town: &'t Town,
    corpus: Vec<Vec<u8>>,
}

impl<'t> Forms<'t> {
    /// Creates the target for a town.
    pub fn new(town: &'t Town) -> Self {
        Self { town, corpus: corpus::of("multipart") }
    }

    fn upload(&self, random: &mut Random) -> Vec<u8> {
        let boundary = random.one(&["b", "edge", "----x", "a b", "", "x'y", "bb"]);
        let media = match random.below(8) {
            0 => format!("multipart/form-data; boundary=\"{boundary}\""),
            1 => format!("multipart/form-data; charset=utf-8; boundary={boundary}; x=y"),
            2 => format!("multipart/form-data; Boundary={boundary}{boundary}"),
            3 => random
                .one(&["multipart/form-data", "multipart/mixed; boundary=b", "MULTIPART/FORM-DATA;boundary=b"])
                .into(),
            _ => format!("multipart/form-data; boundary={boundary}"),
        };
        let mut body = form(random, boundary);
        if random.chance(400) {
            mutate::bytes(random, &mut body);
        }
        let target = match random.below(3) {
            0 => "/user/do-not-call/import?dry_run=1".into(),
            _ => self.town.owner.path("/user/knowledgebases/{id}/documents"),
        };
        let mut text = Text::new(Method::Post, &target).bearer("owner").header("content-type", media.as_bytes());
        text.body = Some(body);
        text.bytes()
    }
}

/// Draws a form with the fields of a document, in any number and order.
fn form(random: &mut Random, boundary: &str) -> Vec<u8> {
    let mut body = Vec::new();
    if random.chance(30) {
        body.extend_from_slice(b"preamble\r\n");
    }
    let mut names = vec!["name", "type", "file"];
    if random.chance(200) {
        names.push(random.one(&["description", "name", "file", "url", "links", "x", ""]));
    }
    if random.chance(100) {
        names.extend(std::iter::repeat_n("y", mutate::index(random, 40)));
    }
    if random.chance(100) {
        names.remove(mutate::index(random, names.len()));
    }
    for (at, name) in names.iter().enumerate() {
        let name = if *name == "y" { format!("y{at}") } else { (*name).to_owned() };
        part(random, boundary, &name, &mut body);
    }
    if random.chance(900) {
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    }
    body
}

fn part(random: &mut Random, boundary: &str, name: &str, body: &mut Vec<u8>) {
    let disposition = match random.below(12) {
        0 => format!("Content-Disposition: form-data; name*=UTF-8''{name}"),
        1 => format!("content-disposition: form-data; name={name}"),
        2 => format!("CONTENT-DISPOSITION:form-data;filename=\"a.csv\";name=\"{name}\""),
        3 => format!("content-disposition: attachment; name=\"{}\"", mutate::text(random)),
        _ => format!("content-disposition: form-data; name=\"{name}\""),
    };
    let more = match random.below(10) {
        0 => "\r\ncontent-type: text/csv",
        1 => "\r\ncontent-transfer-encoding: base64",
        2 => "\r\n folded: yes",
        3 => "\r\nx: 1\r\ny: 2\r\nz: 3\r\na: 4\r\nb: 5\r\nc: 6\r\nd: 7\r\ne: 8\r\nf: 9",
        _ => "",
    };
    let value = match name {
        _ if random.chance(120) => mutate::text(random),
        "type" => random.one(&["txt", "pdf", "docx", "website", "exe"]).to_owned(),
        "file" => random
            .one(&["We open at nine.", "phone_number\n+40700000201\n", "%PDF-1.4", "PK\u{3}\u{4}", "", "\r\n--", "--b"])
            .to_owned(),
        _ => "Hours".to_owned(),
    };
    body.extend_from_slice(format!("--{boundary}\r\n{disposition}{more}\r\n\r\n{value}\r\n").as_bytes());
}

impl Target for Forms<'_> {
    fn name(&self) -> &'static str {
        "multipart"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| self.upload(random))
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        super::request::one(self.town, input)
    }
}
