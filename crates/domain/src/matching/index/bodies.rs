//! Where the filters' conditions lie, one after the other in one stretch of memory.

use std::collections::BTreeMap;

use super::IndexFull;

/// Bodies of filters. What is released is used again, the smallest that fits first.
#[derive(Debug, Clone, Default)]
pub(super) struct Bodies {
    words: Vec<u32>,
    /// Places of released stretches, by their length.
    released: BTreeMap<usize, Vec<u32>>,
}

impl Bodies {
    /// Stores a body and tells its place.
    pub(super) fn store(&mut self, body: &[u32]) -> Result<u32, IndexFull> {
        let Some(length) = self
            .released
            .range(body.len()..)
            .next()
            .map(|(length, _)| *length)
        else {
            let at = u32::try_from(self.words.len()).map_err(|_| IndexFull)?;
            self.words.extend_from_slice(body);
            return Ok(at);
        };
        let mut place = None;
        if let Some(places) = self.released.get_mut(&length) {
            place = places.pop();
            if places.is_empty() {
                self.released.remove(&length);
            }
        }
        let at = place.ok_or(IndexFull)?;
        let start = at as usize;
        self.words[start..start + body.len()].copy_from_slice(body);
        if length > body.len() {
            let rest = u32::try_from(start + body.len()).map_err(|_| IndexFull)?;
            self.released.entry(length - body.len()).or_default().push(rest);
        }
        Ok(at)
    }

    /// Gives up `length` words at `at`.
    pub(super) fn release(&mut self, at: u32, length: usize) {
        self.released.entry(length).or_default().push(at);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// The words from `at` on, beyond the body's end.
    #[inline]
    pub(super) fn from(&self, at: u32) -> &[u32] {
        &self.words[at as usize..]
    }

    /// The first word at `at`.
    #[inline]
    pub(super) fn first(&self, at: u32) -> u32 {
        self.words[at as usize]
    }
}
