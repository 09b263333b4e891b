//! Positions of text on a page, and the ends of words and lines derived from them (PDF 32000-1, 8.3 and 9.4).

use super::super::prose::{Prose, TextTooLong};

/// Gap along the line that separates words, in font sizes.
const WORD_GAP: f64 = 0.17;
/// Step back along the line that separates words, in font sizes.
const BACK_GAP: f64 = 0.5;
/// Step across the line that starts another line, in font sizes.
const LINE_GAP: f64 = 0.5;
/// Step across the line that starts another paragraph, in font sizes.
const PARAGRAPH_GAP: f64 = 1.9;

/// Affine transformation `[a b c d e f]`, as in a content stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matrix(pub [f64; 6]);

impl Matrix {
    /// The identity transformation.
    pub const IDENTITY: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    /// Combines two transformations: this one first, then `other`.
    pub fn then(self, other: Self) -> Self {
        let ([a, b, c, d, e, f], [p, q, r, s, t, u]) = (self.0, other.0);
        Self([a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u])
    }

    /// Returns this transformation with a translation before it.
    pub fn moved(self, x: f64, y: f64) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y]).then(self)
    }
}

/// A piece of text and its placement.
pub struct PlacedText<'a> {
    /// The text itself, decoded.
    pub text: &'a str,
    /// Transformation from text space, where it begins at the origin, to the page.
    pub matrix: Matrix,
    /// Font size in text space.
    pub size: f64,
    /// Length along the line in text space.
    pub length: f64,
    /// Whether its length is a guess, because the font lists no widths.
    pub guessed: bool,
    /// Whether it was positioned explicitly instead of following the previous piece.
    pub apart: bool,
}

/// End point of the last piece, on the page.
struct End {
    x: f64,
    y: f64,
    size: f64,
    /// Whether it depends on the guessed length of more than one character.
    guessed: bool,
}

/// Text of all pages so far, and the end of the last piece.
#[derive(Default)]
pub struct Lines {
    prose: Prose,
    last: Option<End>,
}

impl Lines {
    /// Starts another page, and with it a new paragraph.
    pub fn page(&mut self) {
        self.prose.paragraph();
        self.last = None;
    }

    /// Appends a piece, separated from the last one by their distance.
    pub fn show(&mut self, piece: &PlacedText<'_>) -> Result<(), TextTooLong> {
        let [a, b, c, d, x, y] = piece.matrix.0;
        let size = (piece.size * c).hypot(piece.size * d);
        if let Some(last) = &self.last {
            let along = a.hypot(b);
            // The page may be mirrored or rotated: measure along the direction in which the text runs.
            let (right, up) = if along > 0.0 { (a / along, b / along) } else { (1.0, 0.0) };
            let (dx, dy) = (x - last.x, y - last.y);
            let unit = size.max(last.size);
            let gap = (dx * right + dy * up, (dy * right - dx * up).abs());
            self.part(gap, unit, last.guessed && piece.apart);
        }
        self.prose.push(piece.text)?;
        let (x, y) = (x + piece.length * a, y + piece.length * b);
        let guessed = piece.guessed && piece.text.chars().nth(1).is_some();
        self.last = Some(End { x, y, size, guessed });
        Ok(())
    }

    /// Separates the next piece by the gap along and across the line.
    fn part(&mut self, (along, across): (f64, f64), unit: f64, unsure: bool) {
        if across > unit * PARAGRAPH_GAP {
            self.prose.paragraph();
        } else if across > unit * LINE_GAP {
            self.prose.line();
        } else if unsure || along > unit * WORD_GAP || along < -unit * BACK_GAP {
            self.prose.space();
        }
    }

    /// Returns the text of all pages.
    pub fn finish(self) -> String {
        self.prose.finish()
    }
}
