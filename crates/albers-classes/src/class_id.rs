//! Classes by number.

/// The number of a class, from 0 on: among those of a release in the order of publication, or
/// among those that some rows or leaves are divided into, as they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ClassId(u32);

impl ClassId {
    /// The class with this number.
    #[inline]
    pub const fn new(number: u32) -> ClassId {
        ClassId(number)
    }

    /// Its number.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Its place in a list with one entry for each class.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The class of a place in a list with one entry for each class.
    ///
    /// # Panics
    /// When the list is longer than there can be classes.
    #[inline]
    pub fn of_index(index: usize) -> ClassId {
        ClassId(u32::try_from(index).expect("there are fewer classes than rows"))
    }

    /// The first so many classes.
    pub fn first(n_classes: usize) -> impl ExactSizeIterator<Item = ClassId> + Clone {
        (0..ClassId::of_index(n_classes).0).map(ClassId)
    }
}
