//! Extracts the text of PDF files, in the order in which their pages draw it.

mod cmap;
mod content;
mod font;
mod place;

use std::collections::HashSet;

use lopdf::{DecompressError, Document, Error, FilterFunc, LoadOptions, Object, ObjectId, decode_text_string};
use switchboard_core::outside::Extracted;

use self::content::Painter;
use super::prose::title;

/// Number of leading bytes in which the header may be: some programs write a few of their own before it.
const HEAD_BYTES: usize = 1_024;
/// Most bytes of an unpacked stream of the file's structure.
const STREAM_BYTES_MAX: usize = 128 << 20;

const NOT_PDF: &str = "The file is not a PDF.";
const ENCRYPTED: &str = "The PDF is encrypted.";
const DAMAGED: &str = "The PDF is damaged.";
const TOO_COMPLEX: &str = "The PDF is too complex to read.";

/// Reads the text of a document, even an encrypted one if it opens without a password. Pages that cannot be read are
/// left out; text in pictures is not recognised.
pub fn read(bytes: &[u8]) -> Result<Extracted, String> {
    let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
    if !head.windows(5).any(|window| window == b"%PDF-") {
        return Err(NOT_PDF.into());
    }
    let mut document = load(bytes, Some(sift))?;
    if document.page_iter().next().is_none() {
        // Only a load without a filter searches for pages if the page tree is wrong.
        document = load(bytes, None)?;
    }
    let mut painter = Painter::new(&document);
    let mut seen = HashSet::new();
    // A hostile page tree may list one page any number of times.
    for page in document.page_iter().filter(|page| seen.insert(*page)) {
        painter.page(page)?;
    }
    Ok(Extracted { title: info_title(&document), text: painter.finish(), ..Extracted::default() })
}

fn load(bytes: &[u8], filter: Option<FilterFunc>) -> Result<Document, String> {
    let options = LoadOptions { filter, max_decompressed_size: Some(STREAM_BYTES_MAX), ..LoadOptions::default() };
    let document = Document::load_mem_with_options(bytes, options).map_err(|error| reason(&error))?;
    if document.is_encrypted() { Err(ENCRYPTED.into()) } else { Ok(document) }
}

/// Load filter that drops objects without text of their own: pictures, annotations, and the structure elements of a
/// tagged document, which are most of its objects.
fn sift(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    let is = |key, names: &[&[u8]]| {
        let dictionary = object.as_dict().or_else(|_| object.as_stream().map(|stream| &stream.dict));
        dictionary
            .and_then(|dictionary| dictionary.get(key))
            .and_then(Object::as_name)
            .is_ok_and(|name| names.contains(&name))
    };
    let kept = !is(b"Type", &[b"StructElem", b"MCR", b"OBJR", b"Annot"]) && !is(b"Subtype", &[b"Image"]);
    kept.then(|| (id, object.clone()))
}

fn reason(error: &Error) -> &'static str {
    match error {
        Error::Decompress(DecompressError::MemoryLimitExceeded { .. }) => TOO_COMPLEX,
        Error::Decryption(_) | Error::InvalidPassword | Error::UnsupportedSecurityHandler(_) => ENCRYPTED,
        _ => DAMAGED,
    }
}

/// Returns the title in the document's information dictionary.
fn info_title(document: &Document) -> Option<String> {
    let info = document.trailer.get_deref(b"Info", document).and_then(Object::as_dict).ok()?;
    let raw = info.get_deref(b"Title", document).ok()?;
    title(&decode_text_string(raw).ok()?)
}
