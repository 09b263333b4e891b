//! Tests of sets against a plain model: random edits, ranges, offsets and chunk sizes, and a rebuild of the bytes.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use proptest::prelude::*;

use super::page::page_in;
use super::update::{subtract_in, update_in};
use super::{Edit, Facet, Layout, Query};
use crate::key::{Kind, Space};
use crate::memory::Memory;
use crate::store::Tx;
use crate::view::Order;

const SPACE: Space = Space::Account(3);

#[derive(Clone, Debug)]
enum Action {
    Edit(Vec<(u8, u32, bool)>),
    Subtract(u8),
}

fn action() -> impl Strategy<Value = Action> {
    let edit = (0_u8..4, 0_u32..400, prop::bool::weighted(0.7));
    prop_oneof![
        9 => prop::collection::vec(edit, 1..60).prop_map(Action::Edit),
        1 => (1_u8..4).prop_map(Action::Subtract),
    ]
}

fn facet(tag: u8) -> Facet {
    if tag == 0 { Facet::ALL } else { Facet::id(tag, u32::from(tag)) }
}

fn run(memory: &mut Memory, layout: Layout, action: &Action) {
    let tx = Tx::new(memory);
    let scope = tx.scope(SPACE);
    match action {
        Action::Edit(edits) => {
            let edits: Vec<Edit> = edits
                .iter()
                .map(|(tag, id, present)| Edit { facet: facet(*tag), id: *id, present: *present })
                .collect();
            update_in(layout, scope, Kind::Call, &edits).expect("sets are sound");
        }
        Action::Subtract(tag) => {
            let others: Vec<Facet> = (0..4).filter(|other| other != tag).map(facet).collect();
            subtract_in(layout, scope, Kind::Call, &facet(*tag), &others).expect("sets are sound");
        }
    }
    let changes = tx.changes();
    memory.apply(&changes);
}

fn model(model: &mut BTreeMap<u8, BTreeSet<u32>>, action: &Action) {
    match action {
        Action::Edit(edits) => {
            // The last edit of an id wins, as in one batch of `update`.
            for (tag, id, present) in edits {
                let set = model.entry(*tag).or_default();
                if *present {
                    set.insert(*id);
                } else {
                    set.remove(id);
                }
            }
        }
        Action::Subtract(tag) => {
            let gone = model.remove(tag).unwrap_or_default();
            model.values_mut().for_each(|set| set.retain(|id| !gone.contains(id)));
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "a case of the model is that many numbers")]
fn pages(
    memory: &Memory,
    layout: Layout,
    sets: &BTreeMap<u8, BTreeSet<u32>>,
    tags: &[u8],
    range: core::ops::Range<u32>,
    order: Order,
    offset: usize,
    limit: usize,
) -> Result<(), TestCaseError> {
    let none = BTreeSet::new();
    let first = tags.first().copied().unwrap_or(0);
    let mut want: Vec<u32> = sets
        .get(&first)
        .unwrap_or(&none)
        .iter()
        .copied()
        .filter(|id| range.contains(id) && tags.iter().all(|tag| sets.get(tag).unwrap_or(&none).contains(id)))
        .collect();
    let total = want.len() as u64;
    if order == Order::Descending {
        want.reverse();
    }
    let want: Vec<u32> = want.into_iter().skip(offset).take(limit).collect();
    let tx = Tx::new(memory);
    let query =
        Query { facets: tags.iter().map(|tag| facet(*tag)).collect(), range, order, offset: offset as u64, limit };
    let page = page_in(layout, tx.scope(SPACE), Kind::Call, &query).expect("sets are sound");
    prop_assert_eq!((page.ids, page.total), (want, total), "{:?}", query);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn pages_equal_a_plain_model(
        history in prop::collection::vec(action(), 1..20),
        chunk in prop::sample::select(&[64_u32, 128, 1024][..]),
        few in prop::sample::select(&[2_usize, 8, 64][..]),
        looks in prop::collection::vec((prop::collection::btree_set(0_u8..4, 0..4), 0_u32..400, 0_u32..450, any::<bool>(), 0_usize..80, 0_usize..40), 1..12),
    ) {
        let layout = Layout { chunk, few };
        let mut memory = Memory::default();
        let mut sets = BTreeMap::new();
        for action in &history {
            run(&mut memory, layout, action);
            model(&mut sets, action);
            for (tags, from, to, down, offset, limit) in &looks {
                let tags: Vec<u8> = tags.iter().copied().collect();
                let order = if *down { Order::Descending } else { Order::Ascending };
                pages(&memory, layout, &sets, &tags, 0..u32::MAX, order, *offset, *limit)?;
                pages(&memory, layout, &sets, &tags, *from..*to, order, *offset, *limit)?;
            }
        }
        let mut rebuilt = Memory::default();
        for (tag, ids) in &sets {
            run(&mut rebuilt, layout, &Action::Edit(ids.iter().map(|id| (*tag, *id, true)).collect()));
        }
        prop_assert_eq!(&memory, &rebuilt, "bytes follow from the set alone");
        for (tag, ids) in &sets {
            run(&mut memory, layout, &Action::Edit(ids.iter().map(|id| (*tag, *id, false)).collect()));
        }
        prop_assert!(memory.rows().is_empty(), "an emptied set leaves no row");
    }
}
