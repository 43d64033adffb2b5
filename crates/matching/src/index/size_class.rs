//! The sizes of blocks. There are few different sizes, so that a growing list can reuse a block that another list has left.

/// The number of items in a block of the class: 0 in class 0, then 1 to 8, then four classes for each doubling.
pub(super) const fn size(class: u32) -> usize {
    if class <= 8 {
        return class as usize;
    }
    let (doublings, step) = ((class - 9) / 4, (class - 9) % 4);
    (5 + step as usize) << (doublings + 1)
}

/// The first items of the free blocks, by class.
#[derive(Debug, Clone, Default)]
pub(super) struct FreeList(Vec<Vec<u32>>);

impl FreeList {
    /// Takes a free block of the class.
    pub(super) fn take(&mut self, class: u32) -> Option<u32> {
        self.0.get_mut(class as usize)?.pop()
    }

    /// Returns a block to the free list.
    pub(super) fn release(&mut self, class: u32, start: u32) {
        let class = class as usize;
        if class == 0 {
            return;
        }
        if self.0.len() <= class {
            self.0.resize(class + 1, Vec::new());
        }
        self.0[class].push(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_more_than_eight_grow_by_a_quarter_at_most() {
        let sizes: Vec<usize> = (0..18).map(size).collect();
        assert_eq!(
            sizes,
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40]
        );
    }

    #[test]
    fn a_released_block_is_taken_by_the_next_of_its_class() {
        let mut free = FreeList::default();
        free.release(3, 70);
        assert_eq!(
            (free.take(2), free.take(9), free.take(3), free.take(3)),
            (None, None, Some(70), None)
        );
    }
}
