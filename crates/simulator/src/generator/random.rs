//! A random sequence that is the same on every machine: splitmix64, for generated data only.

/// A sequence of numbers that its seed determines on every machine: for generated data of demonstrations and measurements,
/// never for secrets.
///
/// ```
/// use bidloop_simulator::Random;
///
/// let mut random = Random::new(7);
/// assert!(random.below(6) < 6);
/// assert_eq!(Random::new(7).number(), Random::new(7).number());
/// ```
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below 1.
    #[expect(clippy::cast_precision_loss, reason = "the 53 bits that are left fit")]
    pub fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// From `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.number() % (high - low + 1)
    }

    /// From `low` to below `high`.
    pub(super) fn amount(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.fraction()
    }

    /// From 0 to below `end`, which is not 0.
    pub fn below(&mut self, end: u32) -> u32 {
        u32::try_from(self.number() % u64::from(end)).unwrap_or(0)
    }

    /// An index below `length`, which is not 0.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.number() % (length as u64)).unwrap_or(0)
    }

    /// One of the items, of which there is at least one.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }

    pub(super) fn text<'a>(&mut self, texts: &'a [String]) -> &'a str {
        &texts[self.index(texts.len())]
    }

    /// An index drawn by weight; the weights are not all 0.
    pub fn weighted(&mut self, weights: impl Iterator<Item = f64> + Clone) -> usize {
        let mut left = self.fraction() * weights.clone().sum::<f64>();
        let mut last = 0;
        for (index, weight) in weights.enumerate() {
            if weight <= 0.0 {
                continue;
            }
            last = index;
            left -= weight;
            if left < 0.0 {
                break;
            }
        }
        last
    }

    /// Some of the items, each at most once, in a random order.
    pub(super) fn some<'a, T>(&mut self, items: &'a [T], count: usize) -> Vec<&'a T> {
        let mut order: Vec<&T> = items.iter().collect();
        let count = count.min(order.len());
        for place in 0..count {
            let other = place + self.index(order.len() - place);
            order.swap(place, other);
        }
        order.truncate(count);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_sequence_is_splitmix64s() {
        // The first values of the published reference implementation for the seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(
            [random.number(), random.number()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
    }

    proptest! {
        #[test]
        fn draws_keep_to_their_bounds(seed: u64, low in 0u64..50, span in 0u64..50) {
            let mut random = Random::new(seed);
            prop_assert!((low..=low + span).contains(&random.between(low, low + span)));
            prop_assert!((0.0..1.0).contains(&random.fraction()));
            let drawn = random.weighted([0.0, 2.0, 0.0, 1.0].into_iter());
            prop_assert!(drawn == 1 || drawn == 3);
            let mut some: Vec<u8> = random.some(&[1, 2, 3, 4], 3).into_iter().copied().collect();
            some.sort_unstable();
            some.dedup();
            prop_assert_eq!(some.len(), 3);
        }
    }
}
