//! [`Turns`]: the queue for a place, and whose turn is next.
//!
//! Accounts and networks take turns, and within a network its addresses: however many addresses of one network wait,
//! another network waits for one of them. A network is the /24 of an IPv4 address or the /48 of an IPv6 address: what
//! one customer of a provider mostly has.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::room::Holder;

/// Fair queue of waiters, by network or account.
pub struct Turns<T> {
    waiting: usize,
    groups: BTreeMap<Holder, Group<T>>,
    /// Groups with waiters; the first was served the longest ago.
    order: VecDeque<Holder>,
}

struct Group<T> {
    waiting: usize,
    queues: BTreeMap<Holder, VecDeque<T>>,
    /// Holders with waiters; the first was served the longest ago.
    order: VecDeque<Holder>,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self { waiting: 0, groups: BTreeMap::new(), order: VecDeque::new() }
    }
}

impl<T> Default for Group<T> {
    fn default() -> Self {
        Self { waiting: 0, queues: BTreeMap::new(), order: VecDeque::new() }
    }
}

/// Returns the group that a holder shares its turn with: its network; an account or the service is its own group.
fn group_of(holder: Holder) -> Holder {
    match holder {
        Holder::Address(IpAddr::V4(ip)) => Holder::Address(Ipv4Addr::from_bits(ip.to_bits() >> 8 << 8).into()),
        Holder::Address(IpAddr::V6(ip)) => Holder::Address(Ipv6Addr::from_bits(ip.to_bits() >> 80 << 80).into()),
        Holder::Account(_) | Holder::Service => holder,
    }
}

impl<T> Turns<T> {
    /// Returns the number of waiters.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns the number of this holder's waiters.
    pub fn of(&self, holder: Holder) -> usize {
        let group = self.groups.get(&group_of(holder));
        group.and_then(|group| group.queues.get(&holder)).map_or(0, VecDeque::len)
    }

    /// Queues a waiter of this holder.
    pub fn push(&mut self, holder: Holder, one: T) {
        let name = group_of(holder);
        let group = self.groups.entry(name).or_insert_with(|| {
            self.order.push_back(name);
            Group::default()
        });
        let queue = group.queues.entry(holder).or_insert_with(|| {
            group.order.push_back(holder);
            VecDeque::new()
        });
        queue.push_back(one);
        group.waiting += 1;
        self.waiting += 1;
    }

    /// Removes and returns the next waiter of a holder for which `may` is true.
    pub fn next(&mut self, mut may: impl FnMut(Holder) -> bool) -> Option<(Holder, T)> {
        let found = self.order.iter().enumerate().find_map(|(at, name)| {
            let within = self.groups[name].order.iter().position(|holder| may(*holder))?;
            Some((at, within))
        });
        let (at, within) = found?;
        let name = self.order.remove(at)?;
        let group = self.groups.get_mut(&name)?;
        let holder = group.order.remove(within)?;
        let queue = group.queues.get_mut(&holder)?;
        let one = queue.pop_front()?;
        if queue.is_empty() {
            group.queues.remove(&holder);
        } else {
            group.order.push_back(holder);
        }
        group.waiting -= 1;
        self.waiting -= 1;
        if group.waiting == 0 {
            self.groups.remove(&name);
        } else {
            self.order.push_back(name);
        }
        Some((holder, one))
    }

    /// Removes and returns the last waiter of the largest group, if that group has more waiters than this holder's
    /// would have with one more.
    pub fn displace(&mut self, holder: Holder) -> Option<T> {
        let own = self.groups.get(&group_of(holder)).map_or(0, |group| group.waiting) + 1;
        let (name, group) = self.groups.iter().max_by_key(|(_, group)| group.waiting)?;
        if group.waiting <= own {
            return None;
        }
        let (longest, _) = group.queues.iter().max_by_key(|(_, queue)| queue.len())?;
        let (name, longest) = (*name, *longest);
        let last = self.groups.get_mut(&name)?.queues.get_mut(&longest)?.pop_back();
        self.settle(name, longest, 1);
        last
    }

    /// Removes the waiters of a holder for which `keep` is false.
    pub fn retain(&mut self, holder: Holder, keep: impl FnMut(&T) -> bool) {
        let name = group_of(holder);
        let Some(queue) = self.groups.get_mut(&name).and_then(|group| group.queues.get_mut(&holder)) else { return };
        let before = queue.len();
        queue.retain(keep);
        let gone = before - queue.len();
        self.settle(name, holder, gone);
    }

    /// Updates counts and orders after `gone` waiters of a holder were removed.
    fn settle(&mut self, name: Holder, holder: Holder, gone: usize) {
        let Some(group) = self.groups.get_mut(&name) else { return };
        group.waiting -= gone;
        self.waiting -= gone;
        if group.queues.get(&holder).is_some_and(VecDeque::is_empty) {
            group.queues.remove(&holder);
            group.order.retain(|waiting| *waiting != holder);
        }
        if group.waiting == 0 {
            self.groups.remove(&name);
            self.order.retain(|waiting| *waiting != name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(network: u8, last: u8) -> Holder {
        Holder::nobody(IpAddr::from([192, 0, network, last]))
    }

    fn served(turns: &mut Turns<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| turns.next(|_| true)).map(|(_, one)| one).collect()
    }

    #[test]
    fn a_network_of_many_addresses_has_one_turn() {
        let mut turns = Turns::default();
        for (last, one) in ["a", "b", "c", "d"].into_iter().enumerate() {
            turns.push(address(1, u8::try_from(last).expect("few")), one);
        }
        turns.push(address(1, 0), "a again");
        turns.push(address(2, 9), "another");
        turns.push(Holder::Account(1), "an account");
        assert_eq!(served(&mut turns), ["a", "another", "an account", "b", "c", "d", "a again"]);
        assert_eq!((turns.waiting(), turns.groups.len(), turns.order.len()), (0, 0, 0));
    }

    #[test]
    fn wider_networks_of_ipv6_share_a_turn() {
        let of = |text: &str| group_of(Holder::nobody(text.parse().expect("an address")));
        assert_eq!(of("2001:db8:1:2::3"), of("2001:db8:1:9::3"));
        assert_ne!(of("2001:db8:1:2::3"), of("2001:db8:2:2::3"));
    }

    #[test]
    fn who_has_the_most_waiting_makes_way_for_who_has_less() {
        let mut turns = Turns::default();
        turns.push(address(1, 1), "first");
        turns.push(address(1, 2), "second");
        turns.push(address(1, 2), "third");
        assert_eq!(turns.displace(address(1, 3)), None, "a network displaces none of its own");
        assert_eq!(turns.displace(address(2, 1)), Some("third"));
        turns.push(address(2, 1), "another");
        assert_eq!(turns.displace(address(2, 2)), None, "both would have two");
        assert_eq!(served(&mut turns), ["first", "another", "second"]);
    }

    proptest! {
        /// For any arrivals, departures and turns, no waiter is lost or served twice, and nothing remains of those who
        /// left.
        #[test]
        fn everybody_is_served_once(acts in prop::collection::vec((0_u8..4, 0_u8..3, 0_u8..5), 1..80)) {
            let mut turns = Turns::default();
            let mut inside = std::collections::BTreeSet::new();
            for (number, (network, last, act)) in acts.into_iter().enumerate() {
                let holder = if network == 3 { Holder::Account(last.into()) } else { address(network, last) };
                match act {
                    0..=2 => {
                        turns.push(holder, number);
                        inside.insert(number);
                    }
                    3 => {
                        let next = turns.next(|waiting| waiting != holder);
                        prop_assert!(next.is_none_or(|(who, one)| who != holder && inside.remove(&one)));
                    }
                    _ if last == 0 => turns.retain(holder, |one| one % 2 == 0 || !inside.remove(one)),
                    _ => prop_assert!(turns.displace(holder).is_none_or(|one| inside.remove(&one))),
                }
                prop_assert_eq!(turns.waiting(), inside.len());
            }
            while let Some((_, one)) = turns.next(|_| true) {
                prop_assert!(inside.remove(&one));
            }
            prop_assert!(inside.is_empty() && turns.groups.is_empty() && turns.order.is_empty());
        }
    }
}
