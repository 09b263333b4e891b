//! Parser of `multipart/form-data` (RFC 7578) with the fields of a document and its file.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use nostd_multipart::{Event, Parser, content_disposition};

use crate::json::{Members, Value};

const MALFORMED: &str = "The multipart body is malformed.";
/// Longest header line of a part, bytes.
const LINE: usize = 1_024;
/// Most header lines of a part.
const HEADERS: usize = 8;
/// Most fields of a form, the file not counted.
const FIELDS_MAX: usize = 32;

/// Fields and file of a form.
pub struct Upload {
    /// Fields, each as text.
    pub members: Members,
    /// Content of the part named `file`.
    pub file: Option<Vec<u8>>,
}

/// Parses a form; the error is a sentence for the user.
pub fn read(content_type: &str, body: &[u8]) -> Result<Upload, String> {
    let malformed = |_: nostd_multipart::Error| MALFORMED.to_string();
    let mut parser: Parser<'_, LINE, HEADERS> =
        Parser::from_content_type(content_type.as_bytes()).map_err(malformed)?;
    let mut upload = Upload { members: Members::default(), file: None };
    let (mut at, mut name, mut bytes) = (0, String::new(), Vec::new());
    loop {
        let (consumed, event) = parser.parse(&body[at..], true).map_err(malformed)?;
        at += consumed;
        match event {
            Some(Event::Header { name: header, value }) if header.eq_ignore_ascii_case(b"content-disposition") => {
                let disposition = content_disposition(value).map_err(malformed)?;
                name = field_name(&disposition).ok_or("The multipart body has a part without a name.")?;
            }
            Some(Event::Data(data)) => bytes.extend_from_slice(data),
            Some(Event::PartEnd) => keep(&mut upload, &core::mem::take(&mut name), core::mem::take(&mut bytes))?,
            Some(Event::Finished) => return Ok(upload),
            None if consumed == 0 => return Err(MALFORMED.to_string()),
            _ => {}
        }
    }
}

fn field_name(disposition: &nostd_multipart::ContentDisposition<'_>) -> Option<String> {
    let value = disposition.name()?;
    let mut name = [0; 128];
    let decoded = value.decode_into(&mut name)?;
    core::str::from_utf8(decoded).ok().map(ToString::to_string)
}

fn keep(upload: &mut Upload, name: &str, bytes: Vec<u8>) -> Result<(), String> {
    if name == "file" {
        upload.file = Some(bytes);
        return Ok(());
    }
    if upload.members.get(name).is_some() {
        return Err(alloc::format!("The multipart body names the field {name} twice."));
    }
    if upload.members.0.len() == FIELDS_MAX {
        return Err(alloc::format!("The multipart body has more than {FIELDS_MAX} fields."));
    }
    let text = String::from_utf8(bytes).map_err(|_| "The multipart body is not valid UTF-8.".to_string())?;
    upload.members.set(name, Value::Text(text));
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
        assert_eq!(upload.file.as_deref(), Some(&b"open\r\n--"[..]));
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
        let twice = b"--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n2\r\n--xx--\r\n";
        assert!(read(TYPE, twice).err().is_some_and(|says| says.contains("twice")));
    }
}
