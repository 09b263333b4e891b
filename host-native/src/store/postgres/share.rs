//! How the slots are shared out among the nodes: what one of them does next.

use super::fence::Id;
use super::place::SLOTS;

/// A node gives nothing up for less than one part in so many of its share.
const SLACK: usize = 8;
/// Lanes that a node has in the end: more make smaller groups of commits, and each takes connections.
pub(super) const LANES: usize = 2;

/// What a node knows of the shares.
pub(super) struct Shares<'s> {
    /// Nodes that take slots.
    pub nodes: usize,
    /// Whether this one is among them: one that is drained is not.
    pub takes: bool,
    /// Its own lanes, and their slots.
    pub own: &'s [(Id, usize)],
    /// Slots that nobody has.
    pub free: usize,
    /// Whether they stay free although others could have taken them.
    pub are_left: bool,
    /// Whether the nodes have been the same for a while.
    pub is_calm: bool,
}

/// What a node does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShareStep {
    /// Nothing.
    Rest,
    /// It takes so many free slots.
    Take(usize),
    /// It gives a lane up, but for so many slots.
    Give(Id, usize),
    /// It makes one lane of two.
    Merge([Id; 2]),
}

impl Shares<'_> {
    /// Returns what the node does next.
    pub fn step(&self) -> ShareStep {
        if !self.takes {
            return self.own.first().map_or(ShareStep::Rest, |(id, _)| ShareStep::Give(*id, 0));
        }
        let fair = usize::from(SLOTS).div_ceil(self.nodes.max(1));
        let own: usize = self.own.iter().map(|(_, slots)| slots).sum();
        if self.free > 0 && self.are_left {
            return ShareStep::Take(self.free);
        }
        if self.free > 0 && own < fair {
            return ShareStep::Take(self.free.min(fair - own));
        }
        let excess = own.saturating_sub(fair);
        if !self.is_calm {
            return ShareStep::Rest;
        }
        if excess <= fair / SLACK {
            return self.merge();
        }
        // The smallest lane that suffices is given up, so that most accounts notice nothing; else the largest.
        let enough = self.own.iter().filter(|(_, slots)| *slots >= excess).min_by_key(|(_, slots)| *slots);
        let given = enough.or_else(|| self.own.iter().max_by_key(|(_, slots)| *slots));
        given.map_or(ShareStep::Rest, |(id, slots)| ShareStep::Give(*id, slots.saturating_sub(excess)))
    }

    /// Others come and go, and leave many small lanes: the two smallest become one, so that most accounts notice nothing.
    fn merge(&self) -> ShareStep {
        let mut lanes = self.own.to_vec();
        lanes.sort_by_key(|(_, slots)| *slots);
        match &lanes[..] {
            [(one, _), (other, _), rest @ ..] if rest.len() + 2 > LANES => ShareStep::Merge([*one, *other]),
            _ => ShareStep::Rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: usize = SLOTS as usize;

    fn step(nodes: usize, own: &[usize], free: usize) -> ShareStep {
        let own: Vec<_> = own.iter().zip(1_u8..).map(|(slots, id)| ([id; 16], *slots)).collect();
        Shares { nodes, takes: true, own: &own, free, are_left: false, is_calm: true }.step()
    }

    #[test]
    fn each_takes_its_share_of_what_is_free() {
        assert_eq!(step(1, &[], ALL), ShareStep::Take(ALL));
        assert_eq!(step(2, &[], ALL), ShareStep::Take(512));
        assert_eq!(step(3, &[300], 724), ShareStep::Take(42));
        assert_eq!(step(2, &[512], 512), ShareStep::Rest, "the rest is the other's");
        let own = [([1; 16], 512)];
        let left = Shares { nodes: 2, takes: true, own: &own, free: 512, are_left: true, is_calm: true };
        assert_eq!(left.step(), ShareStep::Take(512), "but not for long");
    }

    #[test]
    fn who_has_too_much_gives_a_lane_up() {
        assert_eq!(step(2, &[ALL], 0), ShareStep::Give([1; 16], 512));
        assert_eq!(step(2, &[512, 512], 0), ShareStep::Give([1; 16], 0));
        assert_eq!(step(3, &[100, 500, 300], 0), ShareStep::Give([2; 16], 0), "no lane is small enough");
        assert_eq!(step(3, &[512, 512], 0), ShareStep::Give([2; 16], 0));
        assert_eq!(step(3, &[342 + 42], 0), ShareStep::Rest, "a little more is no reason");
        let own = [([1; 16], ALL)];
        let new = Shares { nodes: 2, takes: true, own: &own, free: 0, are_left: false, is_calm: false };
        assert_eq!(new.step(), ShareStep::Rest, "a node that has just come may go again");
    }

    #[test]
    fn who_has_many_lanes_makes_one_of_the_two_smallest() {
        assert_eq!(step(1, &[500, 524], 0), ShareStep::Rest);
        assert_eq!(step(1, &[500, 20, 404, 100], 0), ShareStep::Merge([[2; 16], [4; 16]]));
        assert_eq!(step(2, &[500, 20, 404, 100], 0), ShareStep::Give([1; 16], 0), "it has too much");
        let own = [([1; 16], 500), ([2; 16], 300), ([3; 16], 224)];
        let new = Shares { nodes: 1, takes: true, own: &own, free: 0, are_left: false, is_calm: false };
        assert_eq!(new.step(), ShareStep::Rest);
    }

    #[test]
    fn who_is_drained_gives_all_up_and_takes_nothing() {
        let own = [([1; 16], 300), ([2; 16], 200)];
        let drained = Shares { nodes: 1, takes: false, own: &own, free: 524, are_left: true, is_calm: false };
        assert_eq!(drained.step(), ShareStep::Give([1; 16], 0));
        assert_eq!(Shares { own: &[], ..drained }.step(), ShareStep::Rest);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// Nodes come and go: in the end each has its share, and none moves for ever.
        #[test]
        fn shares_come_to_rest(events in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 1..40)) {
            let (mut nodes, mut free): (Vec<Vec<usize>>, _) = (vec![Vec::new()], ALL);
            for (comes, which) in events {
                if nodes.len() == 1 || (nodes.len() < 9 && comes) {
                    nodes.push(Vec::new());
                } else {
                    free += nodes.swap_remove(which.index(nodes.len())).iter().sum::<usize>();
                }
                let mut moves = 0;
                while settle(&mut nodes, &mut free) {
                    moves += 1;
                    prop_assert!(moves < 100, "{nodes:?}, {free} free");
                }
                let fair = ALL.div_ceil(nodes.len());
                prop_assert_eq!(free, 0, "{:?}", nodes);
                prop_assert!(nodes.iter().all(|own| own.iter().sum::<usize>() <= fair + fair / SLACK), "{nodes:?}");
                prop_assert!(nodes.iter().all(|own| own.len() <= LANES), "{nodes:?}");
            }
        }
    }

    /// Has each node do one step; returns whether any did.
    fn settle(nodes: &mut [Vec<usize>], free: &mut usize) -> bool {
        let mut is_moved = false;
        for at in 0..nodes.len() {
            let next = step(nodes.len(), &nodes[at], *free);
            match next {
                ShareStep::Rest => continue,
                ShareStep::Take(slots) => {
                    nodes[at].push(slots);
                    *free -= slots;
                }
                ShareStep::Give(id, keep) => {
                    let given = nodes[at].remove(usize::from(id[0]) - 1);
                    *free += given - keep;
                    nodes[at].extend(Some(keep).filter(|keep| *keep > 0));
                }
                ShareStep::Merge(lanes) => {
                    let mut all = lanes.map(|id| usize::from(id[0]) - 1);
                    all.sort_unstable();
                    let [first, second] = all;
                    let slots = nodes[at].remove(second);
                    nodes[at][first] += slots;
                }
            }
            is_moved = true;
        }
        is_moved
    }
}
