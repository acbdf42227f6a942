//! A map that is cheap to clone, for what a walk over a kernel knows at a point.
//!
//! A walker clones what it knows at every block, so a kernel of many statements would copy all of it again and again.
//! Here entries that were there for a while lie in layers that clones share; newer layers hide older ones. Must hold: a
//! clone copies at most `FRESH` entries and one pointer a layer, and there are at most logarithmically many layers.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Entries that are not shared yet.
const FRESH: usize = 16;

/// See the head of this file.
#[derive(Clone, Debug)]
pub(crate) struct SharedMap<K, V> {
    own: BTreeMap<K, V>,
    /// Oldest and largest first; each is more than twice as large as the next when it is made.
    layers: Vec<Arc<BTreeMap<K, V>>>,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> SharedMap<K, V> {
        SharedMap { own: BTreeMap::new(), layers: Vec::new() }
    }
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// The newest value of a key.
    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.own.get(key).or_else(|| self.layers.iter().rev().find_map(|layer| layer.get(key)))
    }

    /// Is there a value?
    pub(crate) fn contains(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Sets the value of a key.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.own.insert(key, value);
        if self.own.len() >= FRESH {
            self.share();
        }
    }

    /// The value of a key, made here if only a shared layer has it or none.
    pub(crate) fn entry(&mut self, key: K, default: impl FnOnce() -> V) -> &mut V {
        let inherited = if self.own.contains_key(&key) { None } else { self.get(&key).cloned() };
        if self.own.len() >= FRESH {
            self.share();
        }
        self.own.entry(key).or_insert_with(|| inherited.unwrap_or_else(default))
    }

    /// Keeps the entries for which `keep` holds. Copies everything: for rare use.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) {
        let mut all = BTreeMap::new();
        for layer in std::mem::take(&mut self.layers) {
            all.extend(layer.iter().map(|(k, v)| (k.clone(), v.clone())));
        }
        all.append(&mut self.own);
        all.retain(|k, v| keep(k, v));
        self.own = all;
        self.share();
    }

    /// Every key with its newest value, in the order of keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let mut all: BTreeMap<&K, &V> = BTreeMap::new();
        for layer in &self.layers {
            all.extend(layer.iter());
        }
        all.extend(self.own.iter());
        all.into_iter()
    }

    /// Moves the own entries into a layer, together with layers that are no larger.
    fn share(&mut self) {
        let mut top = std::mem::take(&mut self.own);
        while let Some(below) = self.layers.pop_if(|below| below.len() <= 2 * top.len()) {
            let mut merged = Arc::unwrap_or_clone(below);
            merged.append(&mut top);
            top = merged;
        }
        if !top.is_empty() {
            self.layers.push(Arc::new(top));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_plain_map_and_clones_stay_apart() {
        let (mut map, mut plain) = (SharedMap::default(), BTreeMap::new());
        let mut seed = 1u32;
        for round in 0..2000u32 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = (seed >> 16) % 300;
            let before = map.clone();
            if round % 3 == 0 {
                *map.entry(key, || 0) += round
            } else {
                map.insert(key, round)
            }
            assert_eq!(before.get(&key).copied(), plain.get(&key).copied());
            *plain.entry(key).or_insert(0) =
                if round % 3 == 0 { plain.get(&key).copied().unwrap_or(0) + round } else { round };
            if round % 501 == 500 {
                map.retain(|k, _| k % 7 != 0);
                plain.retain(|k, _| k % 7 != 0);
            }
            assert!(map.iter().map(|(k, v)| (*k, *v)).eq(plain.iter().map(|(k, v)| (*k, *v))), "round {round}");
            assert!(map.layers.len() <= 8, "{} layers", map.layers.len());
        }
    }
}
