//! Where text stands on a page, and from that where words and lines end (PDF 32000-1, 8.3 and 9.4).

use super::super::prose::{Prose, TooLong};

/// A gap along the line that is another word, in font sizes.
const WORD_GAP: f64 = 0.17;
/// A step back along the line that is another word, in font sizes.
const BACK_GAP: f64 = 0.5;
/// A step across the line that is another line, in font sizes.
const LINE_GAP: f64 = 0.5;
/// A step across the line that is another paragraph, in font sizes.
const PARAGRAPH_GAP: f64 = 1.9;

/// A transformation of the plane: `[a b c d e f]` as a page writes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matrix(pub [f64; 6]);

impl Matrix {
    /// The one that changes nothing.
    pub const IDENTITY: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    /// This one first, then the other.
    pub fn then(self, other: Self) -> Self {
        let ([a, b, c, d, e, f], [p, q, r, s, t, u]) = (self.0, other.0);
        Self([a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u])
    }

    /// A step of text before this one.
    pub fn moved(self, x: f64, y: f64) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y]).then(self)
    }
}

/// How a piece of text was placed.
pub struct Piece<'a> {
    /// What it says.
    pub text: &'a str,
    /// From its own space, where it begins at nothing, to the page.
    pub matrix: Matrix,
    /// Its size there.
    pub size: f64,
    /// Its length there.
    pub length: f64,
    /// Whether its length is a guess.
    pub guessed: bool,
    /// Whether it was put at a place of its own, not after what came before.
    pub apart: bool,
}

/// The end of what was shown last.
struct End {
    x: f64,
    y: f64,
    size: f64,
    /// Whether a guess of a word's length leads here.
    guessed: bool,
}

/// A page under way.
#[derive(Default)]
pub struct Lines {
    prose: Prose,
    last: Option<End>,
}

impl Lines {
    /// Another page begins.
    pub fn page(&mut self) {
        self.prose.paragraph();
        self.last = None;
    }

    /// Adds a piece where it stands.
    pub fn show(&mut self, piece: &Piece<'_>) -> Result<(), TooLong> {
        let [a, b, c, d, x, y] = piece.matrix.0;
        let size = (piece.size * c).hypot(piece.size * d);
        if let Some(last) = &self.last {
            let along = a.hypot(b);
            // The page's axes may be mirrored or turned: what counts is the line that the text runs along.
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

    /// Parts what comes from what was, as the gap along and across the line says.
    fn part(&mut self, (along, across): (f64, f64), unit: f64, unsure: bool) {
        if across > unit * PARAGRAPH_GAP {
            self.prose.paragraph();
        } else if across > unit * LINE_GAP {
            self.prose.line();
        } else if unsure || along > unit * WORD_GAP || along < -unit * BACK_GAP {
            self.prose.space();
        }
    }

    /// The text of all pages.
    pub fn finish(self) -> String {
        self.prose.finish()
    }
}
