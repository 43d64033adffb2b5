//! Rooms of few sizes, so that what one thing leaves the next can use: how lists of entries and filters' bodies share
//! memory through any number of edits.

/// How much a room of the class holds: nothing in class 0, then 1 to 8, then four classes for each doubling.
pub(super) const fn room(class: u32) -> usize {
    if class <= 8 {
        return class as usize;
    }
    let (doublings, step) = ((class - 9) / 4, (class - 9) % 4);
    (5 + step as usize) << (doublings + 1)
}

/// The class of the smallest rooms that hold `length`.
pub(super) const fn class(length: usize) -> u32 {
    if length <= 8 {
        #[expect(clippy::cast_possible_truncation, reason = "at most 8")]
        return length as u32;
    }
    // Of the rooms between two powers of two, the first that is no smaller.
    let doublings = (length - 1).ilog2() - 2;
    let mut class = 9 + 4 * (doublings - 1);
    while room(class) < length {
        class += 1;
    }
    class
}

/// Where rooms lie that nobody uses, by their class.
#[derive(Debug, Clone, Default)]
pub(super) struct FreeRooms(Vec<Vec<u32>>);

impl FreeRooms {
    /// A free room of the class.
    pub(super) fn take(&mut self, class: u32) -> Option<u32> {
        self.0.get_mut(class as usize)?.pop()
    }

    /// Whoever lived in this room of the class has left it.
    pub(super) fn leave(&mut self, class: u32, at: u32) {
        let class = class as usize;
        if class == 0 {
            return;
        }
        if self.0.len() <= class {
            self.0.resize(class + 1, Vec::new());
        }
        self.0[class].push(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_grow_by_a_quarter_at_most_beyond_eight() {
        let rooms: Vec<usize> = (0..18).map(room).collect();
        assert_eq!(
            rooms,
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40]
        );
    }

    #[test]
    fn the_class_is_that_of_the_smallest_room() {
        for length in 0..5_000 {
            let class = class(length);
            assert!(room(class) >= length, "{length}");
            assert!(class == 0 || room(class - 1) < length, "{length}");
        }
    }

    #[test]
    fn a_room_that_was_left_is_taken_by_the_next_of_its_class() {
        let mut free = FreeRooms::default();
        free.leave(3, 70);
        assert_eq!(
            (free.take(2), free.take(9), free.take(3), free.take(3)),
            (None, None, Some(70), None)
        );
    }
}
