//! The file readers, in this process: what they extract from good files, their errors for bad ones, and that no input
//! makes them panic.

use lopdf::{Object, Stream, dictionary};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use switchboard::extract::read;
use switchboard_core::limits::{FILE_BYTES_MAX, TEXT_BYTES_MAX};
use switchboard_core::outside::{Extracted, TextForm};
use switchboard_tests::drawn::for_all;
use zip::CompressionMethod;

use crate::samples::{Pdf, archive, docx, encrypted_pdf, pdf, save, word};

/// Damaged files of one run.
const DAMAGED: u32 = 600;

/// Checks that a result keeps the documented bounds.
fn sound(read: &Result<Extracted, String>) {
    match read {
        Ok(found) => {
            assert!(found.text.len() <= TEXT_BYTES_MAX);
            assert!(!found.text.chars().any(|c| c.is_control() && c != '\n'), "{:?}", found.text);
            let odd = ["  ", " \n", "\n ", "\n\n\n"].iter().any(|odd| found.text.contains(odd));
            assert!(!odd && found.text.trim() == found.text, "{:?}", found.text);
        }
        Err(sentence) => {
            assert!(sentence.ends_with('.') && sentence.chars().count() <= 255, "{sentence}");
        }
    }
}

fn text(form: TextForm, bytes: &[u8]) -> String {
    let read = read(form, bytes);
    sound(&read);
    read.map_or_else(|sentence| sentence, |found| found.text)
}

#[test]
fn pages_read_as_they_are_set() {
    for (content, expected) in [
        ("BT /F1 10 Tf 72 700 Td (one) Tj ET", "one"),
        ("BT /F1 10 Tf 72 700 Td (one) Tj 0 -12 Td (two) Tj 0 -30 Td (three) Tj ET", "one\ntwo\n\nthree"),
        ("BT /F1 10 Tf (a) Tj ET BT /F1 10 Tf 0 -12 Td (b) Tj ET", "a\nb"),
        ("BT /F1 10 Tf [(wo) 20 (rd) -400 (next)] TJ ( and) Tj ET", "word next and"),
        ("BT /F1 10 Tf (one) Tj 15 0 Td (two) Tj 20 0 Td (three) Tj ET", "onetwo three"),
        ("BT /F1 10 Tf 100 0 Td (b) Tj -50 0 Td (a) Tj ET", "b a"),
        ("BT /F1 10 Tf 12 TL (one) Tj T* (two) Tj (three) ' 1 0 (four) \" ET", "one\ntwo\nthree\nfour"),
        ("BT /F1 10 Tf 0 -12 TD (one) Tj T* (two) Tj ET", "one\ntwo"),
        ("BT /F1 10 Tf 5 Tc (ab) Tj 20 0 Td (c) Tj ET", "abc"),
        ("BT /F1 10 Tf 5 Tw (a b) Tj 20 0 Td (c) Tj ET", "a bc"),
        ("BT /F1 10 Tf 50 Tz (ab) Tj 5 0 Td (c) Tj ET", "abc"),
        ("2 0 0 2 0 0 cm BT /F1 10 Tf (ab) Tj 10 0 Td (c) Tj ET", "abc"),
        ("q 1 0 0 1 0 90 cm BT /F1 10 Tf (ab) Tj ET Q BT /F1 10 Tf (c) Tj ET", "ab\n\nc"),
        ("1 0 0 -1 0 800 cm BT /F1 10 Tf 1 0 0 -1 0 50 Tm (a) Tj 1 0 0 -1 0 62 Tm (b) Tj ET", "a\nb"),
        ("BT /F1 10 Tf 0 1 -1 0 9 9 Tm (up) Tj 0 1 -1 0 9 24 Tm (and) Tj 0 1 -1 0 21 9 Tm (on) Tj ET", "up and\non"),
        ("BT /F1 10 Tf (caf\\351 \\200 5 \\(ok\\)) Tj ET", "café € 5 (ok)"),
        ("BT /F2 10 Tf <00010002> Tj 10 0 Td <001000110012> Tj ET", "ățxyz"),
        ("BT /F2 10 Tf <0001FFFF0002> Tj ET", "ăț"),
        ("BT /F3 10 Tf (\\001nd b\\002n\\003 5 \\004 \\005) Tj ET", "find băn 5 € a"),
        ("BT /F3 10 Tf (no) Tj 90 0 Td (widths) Tj 1 0 Td (x) Tj 3 0 Td (y) Tj ET", "no widths xy"),
        ("BT /F1 10 Tf (a) Tj ET BI /W 1 /H 1 /BPC 8 /CS /G ID x\nEI BI /F /Fl ID (\nEI BT 0 -12 Td (b) Tj ET", "a\nb"),
        ("BT /F1 10 Tf (before) Tj ET ) ] garbage (after) Tj", "before"),
        ("BT (no font) Tj /F9 10 Tf (unknown font) Tj ET", "The file has no text."),
        ("Q Q Q ET T* () Tj BT /F1 10 Tf 1 Td (Tm) Tm (a) Tj ET", "a"),
        ("", "The file has no text."),
    ] {
        assert_eq!(text(TextForm::Pdf, &pdf(content)), expected, "{content}");
        assert_eq!(text(TextForm::Pdf, &Pdf::new().page(content).packed()), expected, "packed: {content}");
    }
}

/// Character codes end at 32 bits, whatever a list of widths says.
#[test]
fn widths_beyond_the_last_code_are_left_out() {
    let file = pdf("BT /F2 10 Tf <00010002> Tj ET");
    let w = b"/W[1[500 500]";
    let at = file.windows(w.len()).position(|window| window == w).expect("widths of F2");
    let file = [&file[..at], b"/W[4294967295[500 500]", &file[at + w.len()..]].concat();
    assert_eq!(text(TextForm::Pdf, &file), "ăț");
}

#[test]
fn forms_and_titles_of_a_document() {
    let page = "BT /F1 10 Tf (before) Tj ET 1 0 0 1 0 -50 cm /X1 Do";
    let inside = dictionary! { "Subtype" => "Form", "Matrix" => [1, 0, 0, 1, 0, -9].map(Object::from).to_vec() };
    let form = Pdf::new().form(inside.clone(), "BT /F1 10 Tf (inside) Tj ET").page(page);
    let found = read(TextForm::Pdf, &form.page("BT /F1 10 Tf (next) Tj ET").title("Zi bună").packed()).expect("text");
    assert_eq!((found.title.as_deref(), found.text.as_str()), (Some("Zi bună"), "before\n\ninside\n\nnext"));
    let picture = Pdf::new().form(dictionary! { "Subtype" => "Image" }, "BT /F1 10 Tf (no) Tj ET").page(page);
    assert_eq!(text(TextForm::Pdf, &picture.packed()), "before");
    let itself = Pdf::new().form(inside, "BT /F1 10 Tf (again) Tj ET /X1 Do /X1 Do").page("/X1 Do");
    assert!(text(TextForm::Pdf, &itself.packed()).starts_with("again"));
}

#[test]
fn a_password_is_needed_or_not() {
    assert_eq!(text(TextForm::Pdf, &encrypted_pdf("")), "secret");
    assert_eq!(text(TextForm::Pdf, &encrypted_pdf("password")), "The PDF is encrypted.");
}

#[test]
fn cycles_of_pages_end() {
    let page = "BT /F1 10 Tf (once) Tj ET";
    let mut document = Pdf::new().page(page).finish();
    let root = document.catalog().and_then(|catalog| catalog.get(b"Pages")).and_then(Object::as_reference);
    let root = root.expect("a tree");
    let kids = document.get_dictionary(root).and_then(|tree| tree.get(b"Kids")).and_then(Object::as_array);
    let first = kids.expect("pages")[0].clone();
    let twice = vec![first.clone(), root.into(), first];
    document.get_dictionary_mut(root).expect("a tree").set("Kids", twice);
    document.get_dictionary_mut(root).expect("a tree").set("Parent", root);
    let read = read(TextForm::Pdf, &save(document));
    sound(&read);
    assert!(read.is_err() || read.is_ok_and(|found| found.text == "once"));
}

/// Returns a run of text.
fn run(text: &str) -> String {
    format!("<w:r><w:t>{text}</w:t></w:r>")
}

/// Returns a paragraph with this content.
fn paragraph(inside: &str) -> String {
    format!("<w:p>{inside}</w:p>")
}

/// Returns a table of rows of cells.
fn table(rows: &[&[&str]]) -> String {
    let cell = |text: &&str| format!("<w:tc>{}</w:tc>", paragraph(&run(text)));
    let row = |cells: &&[&str]| format!("<w:tr>{}</w:tr>", cells.iter().map(cell).collect::<String>());
    format!("<w:tbl>{}</w:tbl>", rows.iter().map(row).collect::<String>())
}

#[test]
fn paragraphs_and_tables_of_word() {
    let (a, b) = (paragraph(&run("a")), paragraph(&run("b")));
    let stops = "<w:pPr><w:tabs><w:tab w:val='left'/></w:tabs></w:pPr>";
    let changed = format!("<w:del>{0}<w:delText>no</w:delText></w:del><w:ins>{1}</w:ins>", run("no"), run("yes"));
    let twice = format!("<mc:Choice>{a}</mc:Choice><mc:Fallback>{a}</mc:Fallback>");
    for (body, expected) in [
        (format!("{a}{b}"), "a\nb"),
        (format!("{a}<w:p/><w:p></w:p><w:p/>{b}"), "a\n\nb"),
        (paragraph(&[run("a "), run("b"), run("c")].concat()), "a bc"),
        (paragraph("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r>"), "a b\nc"),
        (paragraph(&[stops, &run("a")].concat()) + &b, "a\nb"),
        (paragraph(&run("&lt;5 &amp; &#x103;&#8364;<![CDATA[<x>]]></w:t><w:noBreakHyphen/><w:t>")), "<5 & ă€<x>-"),
        (table(&[&["a", "b"], &["c"]]) + &paragraph(&run("d")), "a b\nc\n\nd"),
        (paragraph(&changed), "yes"),
        (paragraph(&format!("<w:moveFrom>{}</w:moveFrom><w:moveTo>{}</w:moveTo>", run("no"), run("yes"))), "yes"),
        (paragraph("<w:r><w:instrText>PAGE</w:instrText></w:r>") + &a, "a"),
        (paragraph(&format!("<w:r><mc:AlternateContent>{twice}</mc:AlternateContent></w:r>")), "a"),
        (paragraph("outside<w:t>outside</w:t>"), "The file has no text."),
        (paragraph(&run("&unknown;")), "The DOCX is damaged."),
        (paragraph("<w:r><w:t>a</w:r></w:t>"), "The DOCX is damaged."),
        ("<w:p><w:r><w:t>a".into(), "The DOCX is damaged."),
    ] {
        assert_eq!(text(TextForm::Docx, &docx(&body)), expected, "{body}");
    }
    let found = read(TextForm::Docx, &docx(&paragraph(&run("a")))).expect("text");
    assert_eq!(found.title.as_deref(), Some("Shoes & hats"));
}

#[test]
fn archives_that_are_not_quite_word() {
    let stored = |parts: &[(&str, &str)]| {
        let parts: Vec<(&str, &[u8])> = parts.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        text(TextForm::Docx, &archive(CompressionMethod::Stored, &parts))
    };
    let body = word("<w:p><w:r><w:t>elsewhere</w:t></w:r></w:p>");
    let relations = "<Relationships><Relationship Type='http://x/styles' Target='no'/>\
        <Relationship Type='http://x/officeDocument' Target='/word/document2.xml'/></Relationships>";
    assert_eq!(stored(&[("_rels/.rels", relations), ("word/document2.xml", &body)]), "elsewhere");
    assert_eq!(stored(&[("_rels/.rels", relations)]), "The file is not a DOCX.");
    assert_eq!(stored(&[("hello.txt", "hello")]), "The file is not a DOCX.");
    assert_eq!(stored(&[("word/document.xml", "<workbook/>")]), "The file has no text.");
    assert_eq!(stored(&[("word/document.xml", "<workbook><t/></workbook>")]), "The file is not a DOCX.");
    let entities = "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\">]><w:document>&a;</w:document>";
    assert_eq!(stored(&[("word/document.xml", entities)]), "The DOCX is damaged.");
}

#[test]
fn files_of_another_kind_are_named() {
    let (good_pdf, good_docx) = (pdf("BT /F1 10 Tf (a) Tj ET"), docx(&paragraph(&run("a"))));
    let large = vec![b'x'; FILE_BYTES_MAX + 1];
    let long = vec![b'x'; TEXT_BYTES_MAX + 1];
    for (form, bytes, expected) in [
        (TextForm::Pdf, &b""[..], "The file is empty."),
        (TextForm::Html, b"", "The page is empty."),
        (TextForm::Txt, &large, "The file is larger than 20 MB."),
        (TextForm::Txt, &long, "There is more than 5 MB of text."),
        (TextForm::Html, &long, "There is more than 5 MB of text."),
        (TextForm::Txt, b" \n\t ", "The file has no text."),
        (TextForm::Html, b"<script>only()</script>", "The page has no text."),
        (TextForm::Html, b"<a href=/a><img src=b></a>", ""),
        (TextForm::Pdf, b"plain words", "The file is not a PDF."),
        (TextForm::Pdf, &good_docx, "The file is not a PDF."),
        (TextForm::Pdf, b"%PDF-1.7 and nothing else", "The PDF is damaged."),
        (TextForm::Docx, b"plain words", "The file is not a DOCX."),
        (TextForm::Docx, &good_pdf, "The file is not a DOCX."),
        (
            TextForm::Docx,
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and more",
            "The file is an older or an encrypted Word file: only a plain DOCX can be read.",
        ),
        (TextForm::Txt, &good_pdf, "The file is not plain text."),
        (TextForm::Txt, &good_docx, "The file is not plain text."),
        (TextForm::Html, &good_docx, "The page is not HTML."),
    ] {
        assert_eq!(text(form, bytes), expected, "{form:?} of {:?}", &bytes[..bytes.len().min(40)]);
    }
    let shifted = [b"some bytes before\r\n".to_vec(), good_pdf].concat();
    assert_eq!(text(TextForm::Pdf, &shifted), "a");
}

#[test]
fn a_wrong_directory_is_made_anew() {
    let file = pdf("BT /F1 10 Tf (still here) Tj ET");
    let head = file.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    let shifted = [&file[..head], b"% one line more than the directory knows of\n", &file[head..]].concat();
    assert_eq!(text(TextForm::Pdf, &shifted), "still here");
    let directory = file.windows(5).rposition(|window| window == b"xref\n").expect("a directory");
    assert_eq!(text(TextForm::Pdf, &file[..directory]), "still here");
}

#[test]
fn small_files_of_large_texts_are_refused() {
    let bomb = docx(&format!("<w:p><w:r><w:t>{}</w:t></w:r></w:p>", "x".repeat(TEXT_BYTES_MAX + 1)));
    assert!(bomb.len() < 100_000, "{}", bomb.len());
    assert_eq!(text(TextForm::Docx, &bomb), "There is more than 5 MB of text.");
    let spaces = docx(&" ".repeat(130 << 20));
    assert!(spaces.len() < 1_000_000, "{}", spaces.len());
    assert_eq!(text(TextForm::Docx, &spaces), "The DOCX is too large when it is unpacked.");
    let page = format!("BT /F1 10 Tf ({}) Tj ET", "x".repeat(TEXT_BYTES_MAX + 1));
    assert_eq!(text(TextForm::Pdf, &Pdf::new().page(page).packed()), "There is more than 5 MB of text.");
    let page = " ".repeat(65 << 20);
    assert_eq!(text(TextForm::Pdf, &Pdf::new().page(page).packed()), "The PDF is too complex to read.");
}

#[test]
fn deep_nesting_costs_no_stack() {
    let deep = 200_000;
    let html = "<div>".repeat(deep) + "deep" + &"<svg>".repeat(deep) + &"</div>".repeat(deep);
    assert_eq!(text(TextForm::Html, html.as_bytes()), "deep");
    let body = "<w:p>".repeat(deep) + "<w:r><w:t>deep</w:t></w:r>" + &"</w:p>".repeat(deep);
    assert_eq!(text(TextForm::Docx, &docx(&body)), "deep");
    assert_eq!(text(TextForm::Docx, &docx(&"<w:p>".repeat(deep))), "The DOCX is damaged.");
    for nested in ["[".repeat(deep), "<<".repeat(deep), "(".repeat(deep), "q ".repeat(deep)] {
        assert_eq!(text(TextForm::Pdf, &pdf(&nested)), "The file has no text.");
    }
    let mut document = Pdf::new().page("BT /F1 10 Tf (a) Tj ET").finish();
    document
        .add_object(Stream::new(dictionary! { "Filter" => vec![Object::Name(b"FlateDecode".to_vec()); 9] }, vec![]));
    let file = save(document);
    let nested = format!("9 0 obj {}\nendobj\nxref", "[".repeat(deep));
    let file = [&file[..], nested.as_bytes()].concat();
    sound(&read(TextForm::Pdf, &file));
}

/// Returns a good file of each kind, compressed and not, so that damage reaches every layer.
fn good() -> Vec<(TextForm, Vec<u8>)> {
    let page =
        "BT /F1 10 Tf 72 700 Td [(one) -400 (two)] TJ /F2 9 Tf <00010011> Tj 0 -12 Td /F3 9 Tf (\\001) Tj ET /X1 Do";
    let document =
        || Pdf::new().form(dictionary! { "Subtype" => "Form" }, "BT /F1 9 Tf (form) Tj ET").page(page).title("T");
    let body = "<w:p><w:r><w:t>one &amp; two</w:t><w:tab/></w:r></w:p><w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>";
    let main = word(body);
    let html = "<!doctype html><meta charset=utf-8><meta name=robots content=all><base href=/x><title>T</title>\
        <p>one &amp; <a href='/a?b' rel=me>two</a><pre>\n b</pre><svg><g/></svg><script>x()</script>";
    vec![
        (TextForm::Pdf, save(document().finish())),
        (TextForm::Pdf, document().packed()),
        (TextForm::Pdf, encrypted_pdf("")),
        (TextForm::Docx, docx(body)),
        (TextForm::Docx, archive(CompressionMethod::Stored, &[("word/document.xml", main.as_bytes())])),
        (TextForm::Html, html.as_bytes().to_vec()),
        (TextForm::Txt, "\u{feff}one\r\n\r\ntwo ă \u{a0} three".as_bytes().to_vec()),
    ]
}

#[test]
fn files_that_end_early_are_read_or_refused() {
    for (form, bytes) in good() {
        assert!(read(form, &bytes).is_ok(), "{form:?}");
        for end in (0..bytes.len()).step_by(7) {
            sound(&read(form, &bytes[..end]));
        }
    }
}

/// Damage to a file: a byte changes, a range is lost or repeated, or a number is replaced.
#[derive(Clone, Debug)]
enum Damage {
    Byte(Index, u8),
    Cut(Index, usize),
    Repeat(Index, usize),
    Number(Index, &'static str),
}

impl Damage {
    fn any() -> impl Strategy<Value = Self> {
        let number =
            select(vec!["0", "-1", "99999999999", "4294967295", "1e39", "null", "<<>>", "[", "0 0 R", "1 0 R"]);
        prop_oneof![
            (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Self::Byte(at, byte)),
            (any::<Index>(), 1..40_usize).prop_map(|(at, length)| Self::Cut(at, length)),
            (any::<Index>(), 1..200_usize).prop_map(|(at, length)| Self::Repeat(at, length)),
            (any::<Index>(), number).prop_map(|(at, number)| Self::Number(at, number)),
        ]
    }

    fn happen(&self, bytes: &mut Vec<u8>) {
        let (Self::Byte(at, _) | Self::Cut(at, _) | Self::Repeat(at, _) | Self::Number(at, _)) = self;
        if bytes.is_empty() {
            return;
        }
        let at = at.index(bytes.len());
        let stretch = |length: &usize| at..bytes.len().min(at + length);
        match self {
            Self::Byte(_, byte) => bytes[at] = *byte,
            Self::Cut(_, length) => {
                let stretch = stretch(length);
                bytes.drain(stretch);
            }
            Self::Repeat(_, length) => {
                let again = bytes[stretch(length)].to_vec();
                bytes.splice(at..at, again);
            }
            // The next number in the file is replaced.
            Self::Number(_, other) => {
                let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|start| at + start) else {
                    return;
                };
                let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                bytes.splice(start..start + length, other.bytes());
            }
        }
    }
}

#[test]
fn damaged_files_are_read_or_refused() {
    let damage = (select(good()), prop::collection::vec(Damage::any(), 1..6));
    for_all(DAMAGED, &damage, |((form, mut bytes), damage)| {
        damage.iter().for_each(|damage| damage.happen(&mut bytes));
        sound(&read(form, &bytes));
        Ok(())
    });
}
