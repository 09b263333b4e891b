//! Uploaded files and fetched pages, parsed by the readers that a service runs in a separate process.
//!
//! An input is a file; one that is not an archive becomes the main part of a Word file, and one that is not a PDF
//! becomes the content of a page and, each after a line `%%%`, the character map and other members of its font.

use std::io::Write;

use switchboard::extract::read;
use switchboard_core::limits::{LINKS_MAX, TEXT_BYTES_MAX};
use switchboard_core::outside::{Extracted, TextForm};
use switchboard_sim::random::Random;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{Seen, Target, mutated};
use crate::{corpus, mutate};

/// Separator between a page's content, the character map and the members of its font.
const PARTING: &[u8] = b"\n%%%\n";

const PAGES: &[&str] = &[
    "<!doctype html><html><head><title>Hours &amp; more</title><meta name=robots content=noindex></head><body>x</body></html>",
    "<p>We open at <b>nine</b>.<br>We close<ul><li>at five<li>or <a href='/x?a=1&b=2'>later</a></ul><table><tr><td>a<td>b</table>",
    "<script>var x = '<p>';</script><style>p{}</style><pre>a\n  b</pre><textarea></p></textarea><svg><title>no</title></svg>",
    "<base href='//other.example/'><a rel=nofollow href=a>n</a><a href=' b '>m</a><template><p>t</template><noscript>n",
];
const TEXTS: &[&str] =
    &["We open at nine.\r\nWe close at five.\n", "\u{feff}caf\u{e9}", "a\u{c}b\tc  d\n\n\n\ne", "1,2;3"];
const PARTS: &[&str] = &[
    "<w:document xmlns:w=\"w\"><w:body><w:p><w:r><w:t>We open</w:t><w:tab/><w:t xml:space=\"preserve\"> at nine</w:t></w:r></w:p></w:body></w:document>",
    "<w:document><w:body><w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl><w:p><w:r><w:br/><w:noBreakHyphen/><w:sym w:char=\"F0B7\"/><w:delText>no</w:delText></w:r></w:p></w:body></w:document>",
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><d><mc:AlternateContent><mc:Choice><w:t>a</w:t></mc:Choice><mc:Fallback><w:t>b</w:t></mc:Fallback></mc:AlternateContent>&#x41;&lt;&amp;<![CDATA[c]]><!-- d --></d>",
];
const CONTENTS: &[&str] = &[
    "BT /F1 10 Tf 72 700 Td (one) Tj 0 -12 Td (two) Tj ET",
    "BT /F1 10 Tf [(wo) 20 (rd) -400 (next)] TJ ( and) Tj 12 TL T* (x) ' 1 0 (y) \" ET",
    "q 2 0 0 2 0 0 cm BT /F1 10 Tf 5 Tc 5 Tw 50 Tz <00010002> Tj ET Q BI /W 1 /H 1 ID x EI Q Q\n%%%\n2 beginbfchar <0001> <0103> <0002> <021B> endbfchar 1 beginbfrange <0010> <0012> <0078> endbfrange",
    "BT /F1 1e9 Tf 1 0 0 1 0 0 Tm (a) Tj /X1 Do ET ) ] >> (\\351\\200\\\n\\(ok\\))\n%%%\n1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfrange <00> <FF> [<0041> <0042>] endbfrange",
    "BT /F1 10 Tf <00010002> Tj 10 0 Td <001000110012> Tj ET\n%%%\n1 beginbfrange <0001> <0012> <0061> endbfrange\n%%%\n/Encoding /Identity-H /DescendantFonts [<< /DW 500 /W [1 [500 500] 16 18 500] >>]",
    "BT /F1 10 Tf (\\001 a\\002) Tj 5 0 Td (b) Tj ET\n%%%\n\n%%%\n/FirstChar 32 /Widths [500 600 700] /FontDescriptor << /MissingWidth 300 >> /Encoding << /BaseEncoding /MacRomanEncoding /Differences [1 /fi /uni0103 200 /Euro] >>",
    "BT /F1 1 Tf (ab) Tj 9 0 Td (c) Tj ET\n%%%\n\n%%%\n/Subtype /Type3 /FontMatrix [0.01 0 0 0.01 0 0] /FirstChar 97 /Widths [50 60 70]",
];

/// Target for files of one form.
pub struct Files {
    form: TextForm,
    corpus: Vec<Vec<u8>>,
}

impl Files {
    /// Creates the target of a form.
    pub fn new(form: TextForm) -> Self {
        Self { form, corpus: corpus::of(form.word()) }
    }

    fn seeds(&self) -> &'static [&'static str] {
        match self.form {
            TextForm::Html => PAGES,
            TextForm::Txt => TEXTS,
            TextForm::Docx => PARTS,
            TextForm::Pdf => CONTENTS,
        }
    }

    /// Builds the file of an input.
    fn file(&self, input: &[u8]) -> Vec<u8> {
        match self.form {
            TextForm::Docx if !input.starts_with(b"PK") => archive(input),
            TextForm::Pdf if !input.starts_with(b"%PDF") => document(input),
            _ => input.to_vec(),
        }
    }
}

impl Target for Files {
    fn name(&self) -> &'static str {
        self.form.word()
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| {
            let mut input = random.one(self.seeds()).as_bytes().to_vec();
            mutate::bytes(random, &mut input);
            if random.chance(30) {
                input = input.repeat(1 + mutate::index(random, 200));
            }
            if random.chance(150) {
                input = self.file(&input);
                mutate::bytes(random, &mut input);
            }
            input
        })
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        match read(self.form, &self.file(input)) {
            Ok(found) => sound(&found).map(|()| Seen::word("read")),
            Err(sentence) if !sentence.ends_with('.') || sentence.chars().count() > 255 => Err(sentence),
            Err(sentence) => Ok(Seen { said: "refused".into(), kind: sentence }),
        }
    }
}

/// Checks that the extracted text is as documented.
fn sound(found: &Extracted) -> Result<(), String> {
    let text = &found.text;
    if text.len() > TEXT_BYTES_MAX || found.links.len() > LINKS_MAX {
        return Err("more was read than is allowed".into());
    }
    if text.chars().any(|letter| letter.is_control() && letter != '\n') {
        return Err("the text has control characters".into());
    }
    let odd = ["  ", " \n", "\n ", "\n\n\n"].iter().any(|odd| text.contains(odd));
    if odd || text.trim() != text {
        return Err("the text has spaces that it must not have".into());
    }
    let title = found.title.as_deref().unwrap_or("x");
    if title.is_empty() || title.chars().count() > 255 || title.contains('\n') {
        return Err(format!("the title is {title:?}"));
    }
    if found.noindex && !text.is_empty() { Err("a page that asks not to be read has a text".into()) } else { Ok(()) }
}

/// Builds a Word file with this main part.
fn archive(main: &[u8]) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    writer.start_file("word/document.xml", options).expect("a part");
    writer.write_all(main).expect("its content");
    writer.finish().expect("an archive").into_inner()
}

/// Builds a PDF of one page with this content, character map, and font members.
fn document(input: &[u8]) -> Vec<u8> {
    let (content, font) = parted(input);
    let (table, members) = parted(font);
    let stream = |bytes: &[u8]| {
        let head = format!("<< /Length {} >>\nstream\n", bytes.len());
        [head.as_bytes(), bytes, b"\nendstream"].concat()
    };
    let subtype = if table.is_empty() { "Type1" } else { "Type0" };
    let meanings = if table.is_empty() { "" } else { "/ToUnicode 6 0 R" };
    let font = format!("<< /Type /Font /Subtype /{subtype} /BaseFont /Helvetica {meanings} ");
    let objects: [Vec<u8>; 6] = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> >>".to_vec(),
        [font.as_bytes(), members, b" >>"].concat(),
        stream(content),
        stream(table),
    ];
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (object, number) in objects.iter().zip(1..) {
        places.push(out.len());
        out.extend(format!("{number} 0 obj\n").into_bytes());
        out.extend_from_slice(object);
        out.extend_from_slice(b"\nendobj\n");
    }
    let start = out.len();
    out.extend_from_slice(b"xref\n0 7\n0000000000 65535 f \n");
    places.iter().for_each(|place| out.extend(format!("{place:010} 00000 n \n").into_bytes()));
    out.extend(format!("trailer\n<< /Size 7 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").into_bytes());
    out
}

/// Splits at the first separator line.
fn parted(input: &[u8]) -> (&[u8], &[u8]) {
    let at = input.windows(PARTING.len()).position(|window| window == PARTING);
    at.map_or((input, &[]), |at| (&input[..at], &input[at + PARTING.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_made_here_can_be_read() {
        for (form, input, text) in [
            (TextForm::Pdf, CONTENTS[0], "one\ntwo"),
            (TextForm::Pdf, CONTENTS[4], "abpqr"),
            (TextForm::Pdf, CONTENTS[5], "fi aă b"),
            (TextForm::Pdf, CONTENTS[6], "ab c"),
            (TextForm::Docx, PARTS[0], "We open at nine"),
            (TextForm::Txt, TEXTS[0], "We open at nine.\nWe close at five."),
        ] {
            let files = Files::new(form);
            let found = read(form, &files.file(input.as_bytes())).expect(text);
            assert_eq!(found.text, text);
            assert_eq!(sound(&found), Ok(()));
        }
        let odd = Extracted { text: "a  b".into(), ..Extracted::default() };
        assert!(sound(&odd).is_err());
    }
}
