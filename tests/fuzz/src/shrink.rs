//! Shrinks a failing input: bytes are removed or simplified for as long as it still fails.

/// Most attempts per input.
const TRIES_MAX: usize = 400;

/// Returns the smallest input found that `fails` too.
pub fn shrink(input: &[u8], mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let (mut best, mut tries) = (input.to_vec(), 0);
    let mut size = best.len().div_ceil(2).max(1);
    loop {
        let before = best.len();
        let mut at = 0;
        while at < best.len() && tries < TRIES_MAX {
            let end = (at + size).min(best.len());
            let shorter = [&best[..at], &best[end..]].concat();
            tries += 1;
            if fails(&shorter) { best = shorter } else { at = end }
        }
        if tries >= TRIES_MAX || size == 1 && best.len() == before {
            break;
        }
        size = (size / 2).max(1);
    }
    for at in 0..best.len() {
        for plain in [b'0', b'a'] {
            if tries >= TRIES_MAX || best[at] == plain || best[at].is_ascii_graphic() && plain == b'a' {
                continue;
            }
            let mut plainer = best.clone();
            plainer[at] = plain;
            tries += 1;
            if fails(&plainer) {
                best = plainer;
                break;
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_is_left() {
        let input = [&b"much noise "[..], &[0; 300], b"[x]", &[9; 300], b"y", b"and more"].concat();
        let fails = |input: &[u8]| {
            let at = |wanted| input.iter().position(|byte| *byte == wanted);
            at(b'x').zip(at(b'y')).is_some_and(|(x, y)| x < y)
        };
        assert_eq!(shrink(&input, fails), b"xy");
        assert_eq!(shrink(b"", |_| true), b"");
    }
}
