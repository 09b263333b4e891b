//! Interprets the operators of page content that position and show text (PDF 32000-1, 8.4 and 9.3 to 9.4).

use std::collections::HashMap;
use std::rc::Rc;

use lopdf::content::{Content, Operation};
use lopdf::{Dictionary, Document, Object, ObjectId};

use super::super::prose::TextTooLong;
use super::TOO_COMPLEX;
use super::font::Font;
use super::place::{Lines, Matrix, PlacedText};

/// Most operators of all pages together.
const OPERATORS_MAX: usize = 20_000_000;
/// Most bytes of unpacked content of all pages together.
const CONTENT_BYTES_MAX: usize = 256 << 20;
/// Most bytes of unpacked content of one page or form.
const PAGE_BYTES_MAX: usize = 64 << 20;
/// Deepest nesting of forms; deeper ones are skipped.
const FORMS_DEEP_MAX: usize = 8;
/// Deepest stack of saved graphics states (`q`).
const STATES_MAX: usize = 256;

/// Interpreter that reads pages one after the other.
pub struct Painter<'a> {
    document: &'a Document,
    lines: Lines,
    /// Parsed fonts, by the address of their dictionary in the document.
    fonts: HashMap<usize, Rc<Font>>,
    operators_left: usize,
    bytes_left: usize,
}

/// Graphics state, as far as it matters to text.
#[derive(Clone)]
struct State {
    page: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    char_space: f64,
    word_space: f64,
    /// Horizontal scale; 1: unscaled.
    scale: f64,
    leading: f64,
}

/// State of a content stream being run.
struct Stream<'a> {
    /// Resource dictionaries that names are looked up in, the nearest first.
    resources: Vec<&'a Dictionary>,
    state: State,
    aside: Vec<State>,
    line: Matrix,
    text: Matrix,
    /// Whether the next text was positioned explicitly.
    apart: bool,
}

impl State {
    fn new(page: Matrix) -> Self {
        Self { page, font: None, size: 0.0, char_space: 0.0, word_space: 0.0, scale: 1.0, leading: 0.0 }
    }
}

impl<'a> Stream<'a> {
    fn new(resources: Vec<&'a Dictionary>, state: State) -> Self {
        let (line, text) = (Matrix::IDENTITY, Matrix::IDENTITY);
        Self { resources, state, aside: Vec::new(), line, text, apart: true }
    }

    /// Looks up a resource of a kind by its name.
    fn resource(&self, kind: &[u8], name: &[u8], document: &'a Document) -> Option<&'a Object> {
        self.resources.iter().find_map(|resources| {
            let named = resources.get_deref(kind, document).and_then(Object::as_dict).ok()?;
            named.get_deref(name, document).ok()
        })
    }

    fn start_line(&mut self, line: Matrix) {
        self.line = line;
        self.text = line;
        self.apart = true;
    }

    fn next_line(&mut self) {
        self.start_line(self.line.moved(0.0, -self.state.leading));
    }

    /// Executes an operator that positions or styles text; returns whether it was one.
    fn place(&mut self, operator: &str, operands: &[Object]) -> bool {
        let state = &mut self.state;
        match (operator, &numbers(operands)[..]) {
            ("q", _) if self.aside.len() < STATES_MAX => self.aside.push(state.clone()),
            ("Q", _) => *state = self.aside.pop().unwrap_or_else(|| state.clone()),
            ("cm", [a, b, c, d, e, f]) => state.page = Matrix([*a, *b, *c, *d, *e, *f]).then(state.page),
            ("Tc", [space]) => state.char_space = *space,
            ("Tw", [space]) => state.word_space = *space,
            ("Tz", [percent]) => state.scale = percent / 100.0,
            ("TL", [leading]) => state.leading = *leading,
            ("BT", _) => self.start_line(Matrix::IDENTITY),
            ("Td", [x, y]) => self.start_line(self.line.moved(*x, *y)),
            ("TD", [x, y]) => {
                state.leading = -y;
                self.start_line(self.line.moved(*x, *y));
            }
            ("Tm", [a, b, c, d, e, f]) => self.start_line(Matrix([*a, *b, *c, *d, *e, *f])),
            ("T*", _) => self.next_line(),
            _ => return false,
        }
        true
    }
}

/// Returns the numeric ones of the first six operands; no operator here takes more.
fn numbers(operands: &[Object]) -> Vec<f64> {
    operands.iter().take(6).filter_map(|operand| operand.as_float().ok().map(f64::from)).collect()
}

impl<'a> Painter<'a> {
    /// Creates an interpreter for the pages of a document.
    pub fn new(document: &'a Document) -> Self {
        let (operators_left, bytes_left) = (OPERATORS_MAX, CONTENT_BYTES_MAX);
        Self { document, lines: Lines::default(), fonts: HashMap::new(), operators_left, bytes_left }
    }

    /// Reads a page. One that cannot be read adds nothing; an error means that the document exceeds a limit.
    pub fn page(&mut self, page: ObjectId) -> Result<(), String> {
        self.lines.page();
        let Ok((own, named)) = self.document.get_page_resources(page) else { return Ok(()) };
        let named = named.iter().filter_map(|id| self.document.get_dictionary(*id).ok());
        let resources = own.into_iter().chain(named).collect();
        let room = self.bytes_left.min(PAGE_BYTES_MAX);
        let content = self.document.get_page_content_with_limit(page, room).map_err(|_| TOO_COMPLEX)?;
        self.run(&content, Stream::new(resources, State::new(Matrix::IDENTITY)), 0)
    }

    /// Returns the text of the pages read so far.
    pub fn finish(self) -> String {
        self.lines.finish()
    }

    /// Runs a content stream, up to the first part that cannot be parsed.
    fn run(&mut self, content: &[u8], mut stream: Stream<'a>, forms: usize) -> Result<(), String> {
        self.bytes_left = self.bytes_left.saturating_sub(content.len());
        for operation in Content::decode_iter(content) {
            let Ok(Operation { operator, operands }) = operation else { break };
            self.operators_left = self.operators_left.checked_sub(1).ok_or(TOO_COMPLEX)?;
            match (operator.as_str(), &operands[..]) {
                ("Do", [Object::Name(name)]) if forms < FORMS_DEEP_MAX => self.form(name, &stream, forms)?,
                ("Tf", [Object::Name(name), size]) => self.choose(&mut stream, name, size),
                (operator, operands) if !stream.place(operator, operands) => {
                    self.show(&mut stream, operator, operands)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Runs a form that a content stream draws.
    fn form(&mut self, name: &[u8], outer: &Stream<'a>, forms: usize) -> Result<(), String> {
        let form = outer.resource(b"XObject", name, self.document).and_then(|object| object.as_stream().ok());
        let is_form = |kind: &[u8]| kind == b"Form";
        let subtype = form.and_then(|form| form.dict.get(b"Subtype").and_then(Object::as_name).ok());
        let Some(form) = form.filter(|_| subtype.is_some_and(is_form)) else { return Ok(()) };
        let own = form.dict.get_deref(b"Resources", self.document).and_then(Object::as_dict).ok();
        let resources = own.into_iter().chain(outer.resources.iter().copied()).take(FORMS_DEEP_MAX).collect();
        let mut state = outer.state.clone();
        let matrix = form.dict.get_deref(b"Matrix", self.document).and_then(Object::as_array).ok();
        if let Some([a, b, c, d, e, f]) = matrix.map(|matrix| numbers(matrix)).as_deref() {
            state.page = Matrix([*a, *b, *c, *d, *e, *f]).then(state.page);
        }
        let room = self.bytes_left.min(PAGE_BYTES_MAX);
        // A form that cannot be unpacked shows nothing; too much content is caught by the page's own limit.
        let Ok(content) = form.get_plain_content_with_limit(room) else { return Ok(()) };
        self.run(&content, Stream::new(resources, state), forms + 1)
    }

    /// Selects a font and its size (`Tf`).
    fn choose(&mut self, stream: &mut Stream<'a>, name: &[u8], size: &Object) {
        let font = stream.resource(b"Font", name, self.document).and_then(|object| object.as_dict().ok());
        let document = self.document;
        stream.state.font = font.map(|font| {
            let place = std::ptr::from_ref(font).addr();
            Rc::clone(self.fonts.entry(place).or_insert_with(|| Rc::new(Font::read(font, document))))
        });
        stream.state.size = size.as_float().map(f64::from).unwrap_or_default();
    }

    /// Executes an operator that shows text; others do nothing.
    fn show(&mut self, stream: &mut Stream<'a>, operator: &str, operands: &[Object]) -> Result<(), TextTooLong> {
        match (operator, operands) {
            ("Tj", [Object::String(bytes, _)]) => self.string(stream, bytes),
            ("'", [Object::String(bytes, _)]) => {
                stream.next_line();
                self.string(stream, bytes)
            }
            ("\"", [word, char, Object::String(bytes, _)]) => {
                stream.state.word_space = word.as_float().map(f64::from).unwrap_or_default();
                stream.state.char_space = char.as_float().map(f64::from).unwrap_or_default();
                stream.next_line();
                self.string(stream, bytes)
            }
            ("TJ", [Object::Array(pieces)]) => pieces.iter().try_for_each(|piece| match piece {
                Object::String(bytes, _) => self.string(stream, bytes),
                other => {
                    let back = other.as_float().map(f64::from).unwrap_or_default() / 1000.0;
                    stream.text = stream.text.moved(-back * stream.state.size * stream.state.scale, 0.0);
                    Ok(())
                }
            }),
            _ => Ok(()),
        }
    }

    fn string(&mut self, stream: &mut Stream<'a>, bytes: &[u8]) -> Result<(), TextTooLong> {
        let state = &stream.state;
        let Some(font) = state.font.as_ref() else { return Ok(()) };
        let shown = font.show(bytes);
        let spaces = state.char_space * shown.codes + state.word_space * shown.spaces;
        let length = (shown.width * state.size + spaces) * state.scale;
        self.lines.show(&PlacedText {
            text: &shown.text,
            matrix: stream.text.then(state.page),
            size: state.size,
            length,
            guessed: font.is_guessed(),
            apart: std::mem::take(&mut stream.apart),
        })?;
        stream.text = stream.text.moved(length, 0.0);
        Ok(())
    }
}
