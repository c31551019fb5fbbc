//! Lists of numbers, one after another in one run of memory.

/// Lists of numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lists {
    items: Vec<u32>,
    ends: Vec<usize>,
}

impl Lists {
    /// No lists yet, with room for so many.
    pub fn with_capacity(n_lists: usize, n_items: usize) -> Lists {
        Lists { items: Vec::with_capacity(n_items), ends: Vec::with_capacity(n_lists) }
    }

    /// The members of each group, ascending: `group_of` tells the group of each, all of which are
    /// numbered from 0 without gaps.
    pub fn of_groups(group_of: &[u32]) -> Lists {
        let n_groups = group_of.iter().max().map_or(0, |&group| group as usize + 1);
        let mut ends = vec![0; n_groups];
        group_of.iter().for_each(|&group| ends[group as usize] += 1);
        let mut end = 0;
        for own in &mut ends {
            end += *own;
            *own = end;
        }
        let mut next: Vec<usize> = std::iter::once(0).chain(ends.iter().copied()).collect();
        let mut items = vec![0; group_of.len()];
        for (member, &group) in (0u32..).zip(group_of) {
            items[next[group as usize]] = member;
            next[group as usize] += 1;
        }
        Lists { items, ends }
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// A list.
    pub fn get(&self, list: usize) -> &[u32] {
        let start = if list == 0 { 0 } else { self.ends[list - 1] };
        &self.items[start..self.ends[list]]
    }

    /// All lists.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|list| self.get(list))
    }

    /// Adds a list.
    pub fn push(&mut self, list: impl IntoIterator<Item = u32>) {
        self.items.extend(list);
        self.ends.push(self.items.len());
    }

    /// Adds a list as a set: ascending, each number once.
    pub fn push_set(&mut self, list: impl IntoIterator<Item = u32>) {
        let start = self.items.len();
        self.items.extend(list);
        self.items[start..].sort_unstable();
        let mut end = start;
        for at in start..self.items.len() {
            if at == start || self.items[at] != self.items[end - 1] {
                self.items[end] = self.items[at];
                end += 1;
            }
        }
        self.items.truncate(end);
        self.ends.push(end);
    }

    /// All lists of some, one after another.
    pub fn concat(parts: Vec<Lists>) -> Lists {
        let n_lists = parts.iter().map(Lists::len).sum();
        let n_items = parts.iter().map(|own| own.items.len()).sum();
        let mut all = Lists::with_capacity(n_lists, n_items);
        for part in parts {
            let start = all.items.len();
            all.items.extend(part.items);
            all.ends.extend(part.ends.into_iter().map(|end| start + end));
        }
        all
    }

    /// As sets, with every number that names a list in the lists that it holds.
    pub fn symmetric(self) -> Lists {
        let mut n_of: Vec<usize> = self.iter().map(<[u32]>::len).collect();
        self.items.iter().for_each(|&item| n_of[item as usize] += 1);
        let mut end = 0;
        let mut next = Vec::with_capacity(n_of.len());
        for n_own in n_of {
            next.push(end);
            end += n_own;
        }
        let mut items = vec![0; end];
        let mut ends = next.clone();
        for (list, own) in (0u32..).zip(self.iter()) {
            for &item in own {
                for (at, value) in [(list, item), (item, list)] {
                    items[ends[at as usize]] = value;
                    ends[at as usize] += 1;
                }
            }
        }
        drop(self);
        let mut all = Lists::with_capacity(ends.len(), items.len());
        for (start, end) in next.into_iter().zip(ends) {
            all.push_set(items[start..end].iter().copied());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_in_a_list_has_its_owner_in_their_own_once() {
        let mut lists = Lists::default();
        lists.push([2, 1, 2]);
        lists.push([0]);
        lists.push([]);
        let lists = Lists::concat(vec![lists, Lists::default()]).symmetric();
        assert_eq!(lists.iter().collect::<Vec<_>>(), [&[1, 2][..], &[0], &[0]]);
        let groups = Lists::of_groups(&[1, 0, 1]);
        assert_eq!(groups.iter().collect::<Vec<_>>(), [&[1][..], &[0, 2]]);
    }
}
