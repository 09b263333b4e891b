//! Extracts the text of web pages as it is shown, their title and their links.
//!
//! Tags are processed as a stream, without building a tree: the cost is linear in the page's size, however it is
//! nested.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use switchboard_core::knowledge::robots::PRODUCT_TOKEN;
use switchboard_core::limits::{LINKS_MAX, URL_MAX};
use switchboard_core::outside::Extracted;

use super::prose::{Prose, TextTooLong, title};
use super::txt;

/// Number of leading bytes in which a page may declare its encoding (HTML, section 4.2.5.4).
const CHARSET_BYTES: usize = 1_024;
/// Most bytes of a title that are kept while it is read.
const TITLE_BYTES_MAX: usize = 4_096;

/// Reads a page. `noindex` and `nofollow` in its robots metadata, general or for this program, are obeyed: with the
/// first there is no text, with the second there are no links.
pub fn read(bytes: &[u8]) -> Result<Extracted, String> {
    let text = decode(bytes);
    if text.get(..CHARSET_BYTES).unwrap_or(&text).contains('\0') {
        return Err("The page is not HTML.".into());
    }
    let mut page = Page::default();
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| page.take(&event).err());
    emitter.naively_switch_states(true);
    if let Some(Ok(too_long)) = Tokenizer::new_with_emitter(&*text, emitter).next() {
        return Err(too_long.into());
    }
    Ok(page.finish())
}

/// Decodes the page by its byte order mark, else by the encoding it declares, else like a text file.
fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match declared(bytes) {
        Some(encoding) if Encoding::for_bom(bytes).is_none() => encoding.decode_without_bom_handling(bytes).0,
        _ => txt::decode(bytes),
    }
}

/// Returns the encoding that a `meta` tag declares.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..CHARSET_BYTES).unwrap_or(bytes).to_ascii_lowercase();
    let start = String::from_utf8_lossy(&start);
    let label = start.split_once("<meta")?.1.split_once("charset")?.1.trim_start().strip_prefix('=')?;
    let label = label.trim_start_matches([' ', '"', '\'']);
    let end = label.find(|c: char| c.is_whitespace() || "\"';>/".contains(c)).unwrap_or(label.len());
    let encoding = Encoding::for_label(&label.as_bytes()[..end])?;
    // A tag that was readable as ASCII is not in UTF-16, whatever it declares.
    Some(if [UTF_16BE, UTF_16LE].contains(&encoding) { UTF_8 } else { encoding })
}

/// How a tag separates the text before it from the text after it.
enum Place {
    /// Not at all: within a line.
    Inline,
    /// A space between two words.
    Cell,
    /// A line break.
    Break,
    /// A new line.
    Line,
    /// A new paragraph.
    Paragraph,
    /// Its content is not part of the text.
    Dropped,
}

fn place(tag: &[u8]) -> Place {
    match tag {
        b"br" => Place::Break,
        b"td" | b"th" | b"button" | b"img" | b"input" | b"option" => Place::Cell,
        b"div" | b"li" | b"tr" | b"dt" | b"dd" | b"caption" | b"figcaption" | b"summary" | b"legend" | b"label"
        | b"center" => Place::Line,
        b"p" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"blockquote" | b"pre" | b"table" | b"ul" | b"ol"
        | b"dl" | b"section" | b"article" | b"header" | b"footer" | b"nav" | b"aside" | b"main" | b"figure"
        | b"form" | b"fieldset" | b"hr" | b"address" | b"details" | b"dialog" | b"body" => Place::Paragraph,
        b"script" | b"style" | b"template" | b"noscript" | b"svg" | b"iframe" | b"noembed" | b"noframes"
        | b"textarea" | b"select" | b"datalist" => Place::Dropped,
        _ => Place::Inline,
    }
}

/// State of a page being read.
#[derive(Default)]
struct Page {
    prose: Prose,
    /// The start tag being read.
    tag: Tag,
    /// Name of the element being left out until its end tag, and its nesting depth.
    dropped: Option<(Vec<u8>, u32)>,
    /// Number of open `pre` elements: inside them line ends are kept.
    preformatted: u32,
    /// Text of the first title so far; complete at its end tag.
    title: Option<String>,
    in_title: bool,
    links: Vec<String>,
    base_href: Option<String>,
    noindex: bool,
    nofollow: bool,
}

/// A start tag with the attributes that are used.
#[derive(Default)]
struct Tag {
    name: Vec<u8>,
    attribute: Vec<u8>,
    href: Option<String>,
    rel: Option<String>,
    meta_name: Option<String>,
    content: Option<String>,
}

impl Tag {
    /// Stores an attribute of interest, unless it is too long; of a repeated one the first counts.
    fn set(&mut self, value: &[u8]) {
        let slot = match (&self.name[..], &self.attribute[..]) {
            (b"a" | b"base", b"href") => &mut self.href,
            (b"a", b"rel") => &mut self.rel,
            (b"meta", b"name") => &mut self.meta_name,
            (b"meta", b"content") => &mut self.content,
            _ => return,
        };
        if slot.is_none() && value.len() <= URL_MAX {
            *slot = Some(String::from_utf8_lossy(value).into_owned());
        }
    }
}

impl Page {
    fn take(&mut self, event: &CallbackEvent<'_>) -> Result<(), TextTooLong> {
        match event {
            CallbackEvent::OpenStartTag { name } => self.tag = Tag { name: name.to_vec(), ..Tag::default() },
            CallbackEvent::AttributeName { name } => self.tag.attribute = name.to_vec(),
            CallbackEvent::AttributeValue { value } => self.tag.set(value),
            CallbackEvent::CloseStartTag { self_closing } => self.open(*self_closing),
            CallbackEvent::EndTag { name } => self.close(name),
            CallbackEvent::String { value } => return self.text(&String::from_utf8_lossy(value)),
            CallbackEvent::Comment { .. } | CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => {}
        }
        Ok(())
    }

    fn open(&mut self, self_closing: bool) {
        let tag = std::mem::take(&mut self.tag);
        if let Some((name, depth)) = &mut self.dropped {
            *depth = depth.saturating_add(u32::from(*name == tag.name && !self_closing));
            return;
        }
        match &tag.name[..] {
            b"title" if self.title.is_none() => {
                self.title = Some(String::new());
                self.in_title = true;
            }
            b"pre" => self.preformatted = self.preformatted.saturating_add(1),
            b"base" if self.base_href.is_none() => self.base_href.clone_from(&tag.href),
            b"meta" => self.heed(&tag),
            b"a" => self.link(&tag),
            _ => {}
        }
        // Only SVG elements close themselves.
        if matches!(place(&tag.name), Place::Dropped) && !(self_closing && tag.name == b"svg") {
            self.dropped = Some((tag.name, 1));
        } else {
            self.stand(&tag.name);
        }
    }

    fn close(&mut self, name: &[u8]) {
        if let Some((dropped, depth)) = &mut self.dropped {
            *depth -= u32::from(dropped == name);
            if *depth == 0 {
                self.dropped = None;
            }
            return;
        }
        match name {
            b"title" => self.in_title = false,
            b"pre" => self.preformatted = self.preformatted.saturating_sub(1),
            _ => {}
        }
        self.stand(name);
    }

    /// Separates the text before a tag from the text after it.
    fn stand(&mut self, tag: &[u8]) {
        match place(tag) {
            Place::Inline | Place::Dropped => {}
            Place::Cell => self.prose.space(),
            Place::Break => self.prose.line_end(),
            Place::Line => self.prose.line(),
            Place::Paragraph => self.prose.paragraph(),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), TextTooLong> {
        if self.dropped.is_some() {
            return Ok(());
        }
        match &mut self.title {
            Some(title) if self.in_title => {
                let room = TITLE_BYTES_MAX.saturating_sub(title.len());
                title.push_str(&text[..text.floor_char_boundary(room)]);
                Ok(())
            }
            _ if self.preformatted > 0 => self.prose.push(text),
            _ => self.prose.push_flowing(text),
        }
    }

    fn link(&mut self, tag: &Tag) {
        let nofollow = tag.rel.as_ref().is_some_and(|rel| has_word(rel, &["nofollow"]));
        if let Some(href) = tag.href.as_ref().filter(|href| !nofollow && !href.trim().is_empty())
            && self.links.len() < LINKS_MAX
        {
            self.links.push(href.clone());
        }
    }

    fn heed(&mut self, tag: &Tag) {
        let name = tag.meta_name.as_deref().unwrap_or_default().trim();
        if ["robots", PRODUCT_TOKEN].iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
            let content = tag.content.as_deref().unwrap_or_default();
            self.noindex |= has_word(content, &["noindex", "none"]);
            self.nofollow |= has_word(content, &["nofollow", "none"]);
        }
    }

    fn finish(self) -> Extracted {
        let Self { prose, title: raw, links, base_href, noindex, nofollow, .. } = self;
        let links = if nofollow { Vec::new() } else { links };
        let found = Extracted { title: None, text: String::new(), links, base_href, noindex };
        if noindex {
            return found;
        }
        Extracted { title: raw.as_deref().and_then(title), text: prose.finish(), ..found }
    }
}

/// Returns whether a list separated by commas or spaces has one of these words, ignoring ASCII case.
fn has_word(list: &str, words: &[&str]) -> bool {
    let mut found = list.split(|c: char| c == ',' || c.is_whitespace());
    found.any(|word| words.iter().any(|sought| word.eq_ignore_ascii_case(sought)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> String {
        read(html.as_bytes()).expect("a page").text
    }

    #[test]
    fn text_reads_as_it_is_shown() {
        for (html, expected) in [
            ("", ""),
            ("just words", "just words"),
            ("<p>one<p>two", "one\n\ntwo"),
            ("<h1>Head</h1>body", "Head\n\nbody"),
            ("a <b>bold</b>ly <i> spaced </i> word", "a boldly spaced word"),
            ("one\ntwo<br>three<br/><br>four", "one two\nthree\n\nfour"),
            ("<ul><li>one</li>\n<li>two</ul>", "one\ntwo"),
            ("<div>one</div><div>two</div>", "one\ntwo"),
            ("<table><tr><td>a<td>b<tr><th>c<th>d</table>e", "a b\nc d\n\ne"),
            ("<pre>a\n  b</pre> c\nd", "a\nb\n\nc d"),
            ("a<span>b</span>c<wbr>d", "abcd"),
            ("&lt;5&nbsp;&euro; &amp; &#x103; &copy &unknown;", "<5 € & ă © &unknown;"),
            ("a<!-- no -->b<![CDATA[x]]>c", "abc"),
            ("a<script>if (1<2) '</p>'</script>b<style>p>a{}</style>c", "abc"),
            ("a<template><p>no<template>no</template>no</template>b", "ab"),
            ("a<noscript><img>no</noscript>b<svg><title>no</title><text>no</text></svg>c<svg/>d", "abcd"),
            ("a<iframe><p>no</iframe>b<textarea></p>no</textarea>c<select><option>no</select>d", "abcd"),
            ("a<script>never ends <p>b", "a"),
            ("<P>A<SCRIPT>no</Script>B", "AB"),
            ("1 < 2 and 3 > 2 <", "1 < 2 and 3 > 2 <"),
            ("</p></div></template>a", "a"),
            ("a<p title='x>y'>b", "a\n\nb"),
            ("a\0b", "The page is not HTML."),
        ] {
            assert_eq!(read(html.as_bytes()).map_or_else(|says| says, |page| page.text), expected, "{html:?}");
        }
    }

    #[test]
    fn the_first_title_counts() {
        for (html, title) in [
            ("<title> Opening\n hours &amp; more</title><title>no</title>text", Some("Opening hours & more")),
            ("<svg><title>no</title></svg><title>yes</title>", Some("yes")),
            ("<title></title>text", None),
            ("<title>never ends <p>text", Some("never ends <p>text")),
            ("text", None),
        ] {
            let page = read(html.as_bytes()).expect("a page");
            assert_eq!(page.title.as_deref(), title, "{html:?}");
        }
        assert_eq!(text("<title>head</title>body"), "body");
        let long = read(format!("<title>{}</title>", "ă".repeat(TITLE_BYTES_MAX)).as_bytes()).expect("a page");
        assert_eq!(long.title.expect("a title").chars().count(), 255);
    }

    #[test]
    fn links_are_as_written() {
        for (html, links) in [
            (
                "<a href=/a>1</a><A HREF='b?x=1&amp;y=2'>2</A><a href=\"#c\" class=x>3</a>",
                &["/a", "b?x=1&y=2", "#c"][..],
            ),
            ("<a>no</a><a href>no</a><a href=' '>no</a><link href=no><area href=no>", &[]),
            ("<a href=1 href=2>", &["1"]),
            ("<a href=1 rel='noopener NOFOLLOW'><a rel=me href=2>", &["2"]),
            ("<svg><a href=no></a></svg><template><a href=no></a></template><!-- <a href=no> -->", &[]),
            ("<meta name=robots content=nofollow><a href=no>", &[]),
            ("<a href=no><meta content='NoIndex, NoFollow' name='Robots'>", &[]),
            ("<meta name=switchboard content=none><a href=no>", &[]),
            ("<meta name=otherbot content=none><meta name=robots content='index, follow'><a href=1>", &["1"]),
        ] {
            assert_eq!(read(html.as_bytes()).expect("a page").links, links, "{html:?}");
        }
        let many = "<a href=x>".repeat(LINKS_MAX + 1);
        assert_eq!(read(many.as_bytes()).expect("a page").links.len(), LINKS_MAX);
        let long = format!("<a href='{}'><a href=short>", "x".repeat(URL_MAX + 1));
        assert_eq!(read(long.as_bytes()).expect("a page").links, ["short"]);
    }

    #[test]
    fn what_links_are_relative_to() {
        let base = |html: &str| read(html.as_bytes()).expect("a page").base_href;
        assert_eq!(base("<base target=_top><base href=/docs/><base href=/no/>x").as_deref(), Some("/docs/"));
        assert_eq!(base("<a href=x>x</a>"), None);
    }

    #[test]
    fn noindex_leaves_links_alone() {
        let page = read(b"<meta name=robots content=noindex><title>T</title><a href=/a>text</a>").expect("a page");
        let expected = Extracted { links: vec!["/a".into()], noindex: true, ..Extracted::default() };
        assert_eq!(page, expected);
    }

    #[test]
    fn encodings() {
        for (bytes, expected) in [
            ("bună".as_bytes(), "bună"),
            (b"caf\xe9", "café"),
            (b"<meta charset=iso-8859-2>bun\xe3", "bună"),
            (b"<META http-equiv=content-type content='text/html; charset = \"windows-1250\"'>bun\xe3", "bună"),
            (b"<meta charset='utf-8'>a\xffb", "a\u{fffd}b"),
            (b"<meta charset=utf-16>caf\xc3\xa9", "café"),
            (b"<meta charset=shift_jis>\x93\xfa\x96{", "日本"),
            (b"<meta charset=nonsense>caf\xe9", "café"),
            (b"\xef\xbb\xbf<meta charset=latin1>caf\xc3\xa9", "café"),
            (b"\xff\xfeh\0\xe9\0", "hé"),
        ] {
            assert_eq!(read(bytes).expect("a page").text, expected, "{bytes:?}");
        }
    }
}
