//! Fonts: the text and width of each code (PDF 32000-1, 9.6 to 9.10).

use std::collections::BTreeMap;

use encoding_rs::UTF_16BE;
use lopdf::{Dictionary, Document, Encoding, Object};

use super::cmap::ToUnicodeMap;

/// Most bytes of a font's unpacked `ToUnicode` table.
const TABLE_BYTES_MAX: usize = 8 << 20;
/// Width of a glyph if none is given, thousandths of the font size.
const WIDTH_GUESSED: f64 = 500.0;
/// The same for composite fonts, whose glyphs may be ideographs.
const WIDTH_COMPOSITE: f64 = 1000.0;

/// A font used by a page.
pub struct Font {
    codes: Codes,
    widths: Widths,
}

/// How codes map to text.
enum Codes {
    /// Codes of one byte, with the text of each.
    Bytes(Box<[String; 256]>),
    /// Codes mapped by the table; each is two bytes if `pairs`, else as long as the table's code space says.
    Table { table: ToUnicodeMap, pairs: bool },
    /// Codes of two bytes that are UTF-16 units.
    Utf16,
    /// Codes of two bytes whose text is unknown.
    Unknown,
}

/// Widths of codes, thousandths of the font size.
enum Widths {
    Listed {
        first: i64,
        list: Vec<f64>,
        missing: f64,
    },
    /// Widths by the first code of each range: its last code, and the width.
    Ranges {
        ranges: BTreeMap<u32, (u32, f64)>,
        default: f64,
    },
    Guessed,
}

/// Text and measures of a shown string.
pub struct ShownText {
    /// The decoded text; empty if the codes are unknown.
    pub text: String,
    /// Width, in font sizes.
    pub width: f64,
    /// Number of codes, each of which takes the character spacing.
    pub codes: f64,
    /// Number of one-byte spaces, each of which takes the word spacing.
    pub spaces: f64,
}

impl Font {
    /// Reads a font dictionary; missing or invalid entries are guessed.
    pub fn read(font: &Dictionary, document: &Document) -> Self {
        let name = |key| font.get_deref(key, document).and_then(Object::as_name).unwrap_or_default();
        if name(b"Subtype") == b"Type0" {
            let codes = match (to_unicode(font, document), name(b"Encoding")) {
                (Some(table), name) => Codes::Table { table, pairs: name.starts_with(b"Identity") },
                (None, name) if is_utf16(name) => Codes::Utf16,
                _ => Codes::Unknown,
            };
            return Self { codes, widths: composite_widths(font, document) };
        }
        Self { codes: Codes::Bytes(Box::new(meanings(font, document))), widths: simple_widths(font, document) }
    }

    /// Returns whether the widths are guesses.
    pub fn is_guessed(&self) -> bool {
        matches!(self.widths, Widths::Guessed)
    }

    /// Decodes and measures a string of codes.
    pub fn show(&self, bytes: &[u8]) -> ShownText {
        let mut shown = ShownText { text: String::new(), width: 0.0, codes: 0.0, spaces: 0.0 };
        let mut rest = bytes;
        while !rest.is_empty() {
            let (code, after) = rest.split_at(self.code_bytes(rest).clamp(1, rest.len()));
            rest = after;
            let number = code.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
            match &self.codes {
                Codes::Bytes(meanings) => shown.text.push_str(&meanings[usize::from(code[0])]),
                Codes::Table { table, .. } => shown.text.push_str(&table.meaning(number).unwrap_or_default()),
                Codes::Utf16 | Codes::Unknown => {}
            }
            shown.width += self.widths.of(number) / 1000.0;
            shown.codes += 1.0;
            shown.spaces += if code == b" " { 1.0 } else { 0.0 };
        }
        if matches!(self.codes, Codes::Utf16) {
            shown.text.push_str(&UTF_16BE.decode_without_bom_handling(bytes).0);
        }
        shown
    }

    /// Returns the length of the first code of a string, bytes.
    fn code_bytes(&self, bytes: &[u8]) -> usize {
        match &self.codes {
            Codes::Bytes(_) => 1,
            Codes::Table { table, pairs: false } => table.code_bytes(bytes).unwrap_or(2),
            _ => 2,
        }
    }
}

impl Widths {
    fn of(&self, code: u32) -> f64 {
        match self {
            Self::Listed { first, list, missing } => {
                let at = i64::from(code).checked_sub(*first).and_then(|at| usize::try_from(at).ok());
                at.and_then(|at| list.get(at)).copied().unwrap_or(*missing)
            }
            Self::Ranges { ranges, default } => {
                let found = ranges.range(..=code).next_back();
                found.filter(|(_, (last, _))| code <= *last).map_or(*default, |(_, (_, width))| *width)
            }
            Self::Guessed => WIDTH_GUESSED,
        }
    }
}

fn number(object: &Object) -> Option<f64> {
    object.as_float().ok().map(f64::from)
}

fn numbers(objects: &[Object], document: &Document) -> Vec<f64> {
    let number_at = |object| document.dereference(object).ok().and_then(|(_, object)| number(object));
    objects.iter().map(|object| number_at(object).unwrap_or_default()).collect()
}

fn array<'a>(dictionary: &'a Dictionary, key: &[u8], document: &'a Document) -> Option<&'a [Object]> {
    dictionary.get_deref(key, document).and_then(Object::as_array).ok().map(Vec::as_slice)
}

fn simple_widths(font: &Dictionary, document: &Document) -> Widths {
    let Some(list) = array(font, b"Widths", document) else { return Widths::Guessed };
    let of = |dictionary: &Dictionary, key: &[u8]| dictionary.get_deref(key, document).ok().and_then(number);
    let descriptor = font.get_deref(b"FontDescriptor", document).and_then(Object::as_dict).ok();
    let missing = descriptor.and_then(|descriptor| of(descriptor, b"MissingWidth")).unwrap_or_default();
    let first = font.get_deref(b"FirstChar", document).and_then(Object::as_i64).unwrap_or_default();
    // Glyphs of a Type 3 font are measured in a space of their own.
    let scale = array(font, b"FontMatrix", document).and_then(|matrix| number(matrix.first()?)).map(|a| a * 1000.0);
    let scale = scale.filter(|_| font.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Type3"));
    let list = numbers(list, document).into_iter().map(|width| width * scale.unwrap_or(1.0)).collect();
    Widths::Listed { first, list, missing }
}

/// Reads `W` of the descendant font: `first [width …]` and `first last width`.
fn composite_widths(font: &Dictionary, document: &Document) -> Widths {
    let descendant = array(font, b"DescendantFonts", document)
        .and_then(|fonts| document.dereference(fonts.first()?).ok()?.1.as_dict().ok());
    let Some(descendant) = descendant else { return Widths::Guessed };
    let default = descendant.get_deref(b"DW", document).ok().and_then(number).unwrap_or(WIDTH_COMPOSITE);
    let mut ranges = BTreeMap::new();
    let mut rest = array(descendant, b"W", document).unwrap_or_default();
    let code = |object: &Object| object.as_i64().ok().and_then(|code| u32::try_from(code).ok());
    while let [first, second, after @ ..] = rest {
        let Some(first) = code(first) else { break };
        let second = document.dereference(second).map_or(second, |(_, second)| second);
        if let Ok(list) = second.as_array() {
            let listed = (first..=u32::MAX).zip(numbers(list, document));
            ranges.extend(listed.map(|(code, width)| (code, (code, width))));
            rest = after;
        } else {
            let (Some(last), [width, after @ ..]) = (code(second), after) else { break };
            ranges.insert(first, (last, number(width).unwrap_or(default)));
            rest = after;
        }
    }
    Widths::Ranges { ranges, default }
}

/// Returns whether a predefined `CMap` is a Unicode encoding of two bytes.
fn is_utf16(name: &[u8]) -> bool {
    name.starts_with(b"Uni") && name.windows(4).any(|part| part == b"UCS2" || part == b"UTF1")
}

/// Returns the font's `ToUnicode` table.
fn to_unicode(font: &Dictionary, document: &Document) -> Option<ToUnicodeMap> {
    let stream = font.get_deref(b"ToUnicode", document).and_then(Object::as_stream).ok()?;
    Some(ToUnicodeMap::parse(&stream.get_plain_content_with_limit(TABLE_BYTES_MAX).ok()?))
}

/// Returns the text of the 256 codes of a simple font: its named encoding, overridden by its `Differences`, both
/// overridden by its `ToUnicode` table.
fn meanings(font: &Dictionary, document: &Document) -> [String; 256] {
    let encoding = font.get_deref(b"Encoding", document).ok();
    let differing = encoding.and_then(|encoding| encoding.as_dict().ok());
    let base = match (encoding.map(Object::as_name), differing) {
        (Some(Ok(name)), _) => Some(name),
        (_, Some(dictionary)) => dictionary.get_deref(b"BaseEncoding", document).and_then(Object::as_name).ok(),
        _ => None,
    };
    let is_true_type = font.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"TrueType");
    let usual: &[u8] = if is_true_type { b"WinAnsiEncoding" } else { b"StandardEncoding" };
    let mut meanings = named(base.unwrap_or(usual), document).or_else(|| named(usual, document)).unwrap_or_else(empty);
    let differences = differing.and_then(|dictionary| array(dictionary, b"Differences", document));
    let mut code = 0_usize;
    for object in differences.unwrap_or_default() {
        match object {
            Object::Integer(next) => code = usize::try_from(*next).unwrap_or(usize::MAX),
            Object::Name(name) => {
                if let Some(meaning) = meanings.get_mut(code) {
                    *meaning = glyph(name, document).unwrap_or_default();
                }
                code = code.saturating_add(1);
            }
            _ => {}
        }
    }
    if let Some(table) = to_unicode(font, document) {
        for (code, meaning) in (0..).zip(&mut meanings) {
            if let Some(told) = table.meaning(code) {
                *meaning = told;
            }
        }
    }
    meanings
}

fn empty() -> [String; 256] {
    std::array::from_fn(|_| String::new())
}

/// Returns a font dictionary with only a type, from which the library can build an encoding.
fn typed() -> Dictionary {
    let mut font = Dictionary::new();
    font.set("Type", Object::Name(b"Font".to_vec()));
    font
}

/// Returns the text of the codes of a named encoding.
fn named(name: &[u8], document: &Document) -> Option<[String; 256]> {
    let mut font = typed();
    font.set("Encoding", Object::Name(name.to_vec()));
    let encoding = font.get_font_encoding_with_limit(document, TABLE_BYTES_MAX).ok()?;
    let mut meanings = empty();
    for (code, meaning) in (0..=u8::MAX).zip(&mut meanings) {
        *meaning = encoding.bytes_to_string(&[code]).ok()?;
    }
    Some(meanings)
}

/// Returns the character of a glyph name: from the Adobe list, or by its number (`uni20AC`, `u1F600`).
fn glyph(name: &[u8], document: &Document) -> Option<String> {
    let name = name.split(|byte| *byte == b'.').next()?;
    let digits = name.strip_prefix(b"uni").or_else(|| name.strip_prefix(b"u"));
    let number = digits.filter(|digits| (4..=6).contains(&digits.len()));
    let number = number.and_then(|digits| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
    if let Some(c) = number.and_then(char::from_u32) {
        return Some(c.into());
    }
    let mut encoding = Dictionary::new();
    encoding.set("Differences", vec![Object::Integer(0), Object::Name(name.to_vec())]);
    let mut font = typed();
    font.set("Encoding", encoding);
    match font.get_font_encoding_with_limit(document, TABLE_BYTES_MAX).ok()? {
        encoding @ Encoding::Differences(_) => encoding.bytes_to_string(&[0]).ok(),
        _ => None,
    }
}
