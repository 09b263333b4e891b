//! PDF files: the text that their pages show, in the order in which they show it.

mod cmap;
mod content;
mod font;
mod place;

use std::collections::HashSet;

use lopdf::{DecompressError, Document, Error, FilterFunc, LoadOptions, Object, ObjectId, decode_text_string};
use switchboard_core::outside::Extracted;

use self::content::Painter;
use super::prose::title;

/// Where a file's head may stand, bytes: some senders put a few of their own before it.
const HEAD_BYTES: usize = 1_024;
/// A stream of the file's structure when it is unpacked, bytes.
const STREAM_BYTES_MAX: usize = 128 << 20;

const NOT_PDF: &str = "The file is not a PDF.";
const ENCRYPTED: &str = "The PDF is encrypted.";
const DAMAGED: &str = "The PDF is damaged.";
const TOO_COMPLEX: &str = "The PDF is too complex to read.";

/// Reads the text of a document. One that opens without a password is read, even if it is encrypted. A page
/// that cannot be read is left out; pictures of text are no text.
pub fn read(bytes: &[u8]) -> Result<Extracted, String> {
    let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
    if !head.windows(5).any(|window| window == b"%PDF-") {
        return Err(NOT_PDF.into());
    }
    let mut document = load(bytes, Some(sift))?;
    if document.page_iter().next().is_none() {
        // Only a whole load looks for the pages of a file whose directory is wrong.
        document = load(bytes, None)?;
    }
    let mut painter = Painter::new(&document);
    let mut seen = HashSet::new();
    // A hostile page tree may name one page as often as it likes.
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

/// Keeps an object unless it is of a kind that shows no text of its own: pictures, and the elements of a
/// tagged document's structure, which are most of its objects.
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

/// The title that the document's information names.
fn info_title(document: &Document) -> Option<String> {
    let info = document.trailer.get_deref(b"Info", document).and_then(Object::as_dict).ok()?;
    let raw = info.get_deref(b"Title", document).ok()?;
    title(&decode_text_string(raw).ok()?)
}
