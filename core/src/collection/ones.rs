//! Counting the ids of bit arrays, a good part of the work of a list with two filters.

/// Words processed side by side, so that the compiler vectorizes them.
const LANES: usize = 4;

type Lanes = [u64; LANES];

/// Counts the bits that are set. Bits of equal position are added with full adders (carry-save), so that one word in
/// four is counted.
pub(super) fn ones(words: &[u64]) -> u32 {
    let (rows, last_words) = words.as_chunks::<LANES>();
    let (blocks, last_rows) = rows.as_chunks::<4>();
    let (mut ones, mut twos, mut fours) = ([0; LANES], [0; LANES], 0);
    for [a, b, c, d] in blocks {
        let (sum, two) = add(&ones, a, b);
        let (sum, other_two) = add(&sum, c, d);
        let (two, four) = add(&twos, &two, &other_two);
        (ones, twos) = (sum, two);
        fours += count(&four);
    }
    4 * fours + 2 * count(&twos) + count(&ones) + count(last_rows.as_flattened()) + count(last_words)
}

/// Adds three words bit by bit: returns the sums and the carries.
fn add(a: &Lanes, b: &Lanes, c: &Lanes) -> (Lanes, Lanes) {
    let (mut sum, mut carry) = ([0; LANES], [0; LANES]);
    for lane in 0..LANES {
        let (a, b, c) = (a[lane], b[lane], c[lane]);
        sum[lane] = a ^ b ^ c;
        carry[lane] = (a & b) | ((a ^ b) & c);
    }
    (sum, carry)
}

fn count(words: &[u64]) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_as_many_as_one_by_one(words in proptest::collection::vec(any::<u64>(), 0..200), dense: bool) {
            let words: Vec<u64> = words.into_iter().map(|word| if dense { word | word << 1 } else { word }).collect();
            prop_assert_eq!(ones(&words), count(&words));
            let full = alloc::vec![u64::MAX; words.len()];
            prop_assert_eq!(ones(&full) as usize, 64 * words.len());
        }
    }
}
