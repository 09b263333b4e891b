//! The latency of a call: what its engine measured of each turn, summed up.

use alloc::vec::Vec;

use super::rows::CallRow;
use super::tables::{Latency, LatencyStages};
use crate::record;
use crate::record::{Rest, count};
use crate::store::Scope;
use crate::view::Stop;

record! {
    /// An event `metrics` of a call; a turn that did not have a part does not name it.
    pub struct MeasuredTurn stored as "an event of a call" {
        /// Until the engine knew that the customer had finished, milliseconds.
        endpoint_ms: Option<u32> = count(),
        /// Until the words were there, milliseconds.
        stt_ms: Option<u32> = count(),
        /// Until the model's first token, milliseconds.
        llm_ms: Option<u32> = count(),
        /// Until the first sound, milliseconds.
        tts_ms: Option<u32> = count(),
        /// On the line and in buffers, milliseconds.
        transport_ms: Option<u32> = count(),
        /// Waiting for tools, milliseconds.
        tool_ms: Option<u32> = count(),
        /// All together, milliseconds.
        total_ms: Option<u32> = count(),
    }
}

impl CallRow {
    /// Sums up the turns that the engine measured; `None` if it measured none as a whole.
    pub fn latency(&self, account: Scope<'_>) -> Result<Option<Latency>, Stop> {
        if self.live.measured == 0 {
            return Ok(None);
        }
        Ok(sum_up(&self.events_of(account, "metrics")?))
    }
}

fn sum_up(turns: &[MeasuredTurn]) -> Option<Latency> {
    let sorted = |part: fn(&MeasuredTurn) -> Option<u32>| {
        let mut parts: Vec<u32> = turns.iter().filter_map(part).collect();
        parts.sort_unstable();
        parts
    };
    let totals = sorted(|turn| turn.total_ms);
    let middle = |part| share(&sorted(part), 50);
    Some(Latency {
        p50: share(&totals, 50)?,
        p90: share(&totals, 90)?,
        max: *totals.last()?,
        turns: u32::try_from(totals.len()).unwrap_or(u32::MAX),
        stages: LatencyStages {
            endpoint_ms: middle(|turn| turn.endpoint_ms),
            stt_ms: middle(|turn| turn.stt_ms),
            llm_ms: middle(|turn| turn.llm_ms),
            tts_ms: middle(|turn| turn.tts_ms),
            transport_ms: middle(|turn| turn.transport_ms),
            tool_ms: middle(|turn| turn.tool_ms),
            rest: Rest::default(),
        },
        rest: Rest::default(),
    })
}

/// Returns the smallest of the sorted numbers that `percent` of them do not exceed (nearest rank).
fn share(sorted: &[u32], percent: usize) -> Option<u32> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(total_ms: Option<u32>, llm_ms: Option<u32>) -> MeasuredTurn {
        MeasuredTurn { llm_ms, total_ms, ..crate::record::defaults() }
    }

    #[test]
    fn shares_are_numbers_that_were_measured() {
        for (sorted, percent, want) in [
            (&[][..], 50, None),
            (&[7], 50, Some(7)),
            (&[7], 90, Some(7)),
            (&[1, 2], 50, Some(1)),
            (&[1, 2], 90, Some(2)),
            (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 50, Some(5)),
            (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 90, Some(9)),
        ] {
            assert_eq!(share(sorted, percent), want, "{sorted:?} {percent}");
        }
    }

    #[test]
    fn only_turns_with_a_total_count_and_a_part_that_none_had_is_null() {
        assert_eq!(sum_up(&[]), None);
        assert_eq!(sum_up(&[turn(None, Some(5))]), None);
        let all =
            [turn(Some(900), Some(300)), turn(Some(500), None), turn(Some(700), Some(100)), turn(None, Some(200))];
        let latency = sum_up(&all).expect("three turns have a total");
        assert_eq!((latency.p50, latency.p90, latency.max, latency.turns), (700, 900, 900, 3));
        assert_eq!((latency.stages.llm_ms, latency.stages.tts_ms), (Some(200), None));
    }
}
