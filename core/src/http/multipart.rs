//! Parser of `multipart/form-data` (RFC 7578): the fields of a form, and its file as a stretch of the body.

use alloc::string::{String, ToString};
use core::ops::Range;

use nostd_multipart::{Event, ParamValue, Parser, content_disposition};

use crate::json::{Members, Value};

/// Media type of a form.
pub const FORM: &str = "multipart/form-data";

const MALFORMED: &str = "The multipart body is malformed.";
/// Longest header line of a part, bytes.
const LINE: usize = 1_024;
/// Most header lines of a part.
const HEADERS: usize = 8;
/// Most fields of a form, the file not counted.
const FIELDS_MAX: usize = 32;

/// Fields and file of a form.
#[derive(Default)]
pub struct Upload<'b> {
    /// Fields, each as text.
    pub members: Members,
    /// The part named `file`.
    pub file: Option<UploadedFile<'b>>,
}

/// The file of a form.
pub struct UploadedFile<'b> {
    /// Its name; empty if none was sent, or none in UTF-8.
    pub name: String,
    /// Its content type without parameters, in lower case; empty if none was sent.
    pub media: String,
    /// Where in the body its content begins, bytes.
    pub offset: usize,
    /// Its content.
    pub content: &'b [u8],
}

/// A part that is being read.
#[derive(Default)]
struct Part {
    name: String,
    file_name: String,
    media: String,
    content: Range<usize>,
}

/// Parses a form; the error is a sentence for the user.
pub fn read<'b>(content_type: &str, body: &'b [u8]) -> Result<Upload<'b>, String> {
    let malformed = |_: nostd_multipart::Error| MALFORMED.to_string();
    let mut parser: Parser<'_, LINE, HEADERS> =
        Parser::from_content_type(content_type.as_bytes()).map_err(malformed)?;
    let mut upload = Upload::default();
    let (mut at, mut part) = (0, Part::default());
    loop {
        let (consumed, event) = parser.parse(&body[at..], true).map_err(malformed)?;
        at += consumed;
        match event {
            Some(Event::Header { name, value }) => part.head(name, value)?,
            Some(Event::HeadersEnd) => part.content = at..at,
            Some(Event::Data(_)) => part.content.end = at,
            Some(Event::PartEnd) => keep(&mut upload, core::mem::take(&mut part), body)?,
            Some(Event::Finished) => return Ok(upload),
            None if consumed == 0 => return Err(MALFORMED.to_string()),
            _ => {}
        }
    }
}

impl Part {
    fn head(&mut self, header: &[u8], value: &[u8]) -> Result<(), String> {
        if header.eq_ignore_ascii_case(b"content-disposition") {
            let disposition = content_disposition(value).map_err(|_| MALFORMED.to_string())?;
            self.name = disposition.name().and_then(text).ok_or("The multipart body has a part without a name.")?;
            self.file_name = disposition.filename().and_then(text).unwrap_or_default();
        } else if header.eq_ignore_ascii_case(b"content-type") {
            let media = value.split(|byte| *byte == b';').next().unwrap_or_default();
            self.media = String::from_utf8_lossy(media).trim().to_ascii_lowercase();
        }
        Ok(())
    }
}

fn text(value: ParamValue<'_>) -> Option<String> {
    let mut bytes = [0; LINE];
    let decoded = value.decode_into(&mut bytes)?;
    core::str::from_utf8(decoded).ok().map(ToString::to_string)
}

fn keep<'b>(upload: &mut Upload<'b>, part: Part, body: &'b [u8]) -> Result<(), String> {
    let Part { name, file_name, media, content } = part;
    let is_file = name == "file";
    if upload.members.get(&name).is_some() || is_file && upload.file.is_some() {
        return Err(alloc::format!("The multipart body names the field {name} twice."));
    }
    let (offset, content) = (content.start, &body[content]);
    if is_file {
        upload.file = Some(UploadedFile { name: file_name, media, offset, content });
        return Ok(());
    }
    if upload.members.0.len() == FIELDS_MAX {
        return Err(alloc::format!("The multipart body has more than {FIELDS_MAX} fields."));
    }
    let text = core::str::from_utf8(content).map_err(|_| "The multipart body is not valid UTF-8.".to_string())?;
    upload.members.set(&name, Value::Text(text.into()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=xx";

    #[test]
    fn fields_and_a_file() {
        let body = b"--xx\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nHours\r\n--xx\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nopen\r\n--\r\n--xx--\r\n";
        let upload = read(TYPE, body).expect("a good form");
        assert_eq!(upload.members.get("name"), Some(&Value::Text("Hours".into())));
        let file = upload.file.expect("a file");
        assert_eq!((file.name.as_str(), file.media.as_str()), ("a.txt", "text/plain"));
        assert_eq!((file.content, &body[file.offset..][..4]), (&b"open\r\n--"[..], &b"open"[..]));
    }

    #[test]
    fn a_file_may_be_empty_and_have_neither_name_nor_type() {
        let body = b"--xx\r\nContent-Disposition: form-data; name=file\r\n\r\n\r\n--xx--";
        let file = read(TYPE, body).expect("a good form").file.expect("a file");
        assert_eq!((file.name.as_str(), file.media.as_str(), file.content), ("", "", &b""[..]));
        let named = b"--xx\r\ncontent-type: Text/CSV; charset=utf-8\r\nContent-Disposition: form-data; name=file; filename=\"\xc3\xa9%22.csv\"\r\n\r\na\r\n--xx--";
        let file = read(TYPE, named).expect("a good form").file.expect("a file");
        assert_eq!((file.name.as_str(), file.media.as_str(), file.content), ("\u{e9}\".csv", "text/csv", &b"a"[..]));
    }

    #[test]
    fn broken_forms_are_refused() {
        for body in [
            &b""[..],
            b"--xx",
            b"--xx\r\n\r\n\r\n",
            b"--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx",
            b"--yy--\r\n",
        ] {
            assert!(read(TYPE, body).is_err(), "{body:?}");
        }
        assert!(read("multipart/form-data", b"").is_err());
        for name in ["a", "file"] {
            let part = alloc::format!("--xx\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n1\r\n");
            let twice = alloc::format!("{part}{part}--xx--\r\n");
            assert!(read(TYPE, twice.as_bytes()).err().is_some_and(|says| says.contains("twice")));
        }
    }
}
