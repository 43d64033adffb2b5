//! Where the filters' conditions lie, one after the other in one stretch of memory.

use super::IndexFull;
use super::rooms::{FreeRooms, class, room};

/// Bodies of filters, each in a room that hardly exceeds it.
#[derive(Debug, Clone, Default)]
pub(super) struct Bodies {
    words: Vec<u32>,
    free: FreeRooms,
}

impl Bodies {
    /// Stores a body and tells its place.
    pub(super) fn store(&mut self, body: &[u32]) -> Result<u32, IndexFull> {
        let class = class(body.len());
        let at = if let Some(at) = self.free.take(class) {
            at
        } else {
            let at = u32::try_from(self.words.len()).map_err(|_| IndexFull)?;
            self.words.resize(self.words.len() + room(class), 0);
            at
        };
        let start = at as usize;
        self.words[start..start + body.len()].copy_from_slice(body);
        Ok(at)
    }

    /// Gives up a body of `length` words at `at`.
    pub(super) fn release(&mut self, at: u32, length: usize) {
        self.free.leave(class(length), at);
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
