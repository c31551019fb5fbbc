use albers_classes::region::span;
use proptest::prelude::*;

use super::*;

/// A whole number as decimal digits, the least first.
type Digits = Vec<u64>;

fn times(digits: &Digits, factor: u128) -> Digits {
    let mut carry = 0;
    let mut product = Vec::new();
    for &digit in digits {
        let sum = u128::from(digit) * factor + carry;
        product.push((sum % 10) as u64);
        carry = sum / 10;
    }
    while carry > 0 {
        product.push((carry % 10) as u64);
        carry /= 10;
    }
    product
}

fn minus(digits: &Digits, other: &Digits) -> Digits {
    let mut rest = Vec::new();
    let mut borrow = 0;
    for (at, &digit) in digits.iter().enumerate() {
        let less = other.get(at).copied().unwrap_or(0) + borrow;
        borrow = u64::from(digit < less);
        rest.push(digit + 10 * borrow - less);
    }
    while rest.last() == Some(&0) {
        rest.pop();
    }
    rest
}

fn compared(a: &Digits, b: &Digits) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.iter().rev().cmp(b.iter().rev()))
}

fn volume(lengths: &[u64]) -> Digits {
    lengths.iter().fold(vec![1], |volume, &length| times(&volume, length.into()))
}

/// The product of two numbers, digit by digit.
fn product_of(a: &Digits, b: &Digits) -> Digits {
    let mut sum: Digits = vec![0; a.len() + b.len() + 1];
    for (at, &digit) in b.iter().enumerate() {
        for (place, &own) in times(a, digit.into()).iter().enumerate() {
            sum[at + place] += own;
        }
    }
    let mut carry = 0;
    for digit in &mut sum {
        let own = *digit + carry;
        (*digit, carry) = (own % 10, own / 10);
    }
    while sum.last() == Some(&0) {
        sum.pop();
    }
    sum
}

/// A region of so many codes on each attribute, and one in its corner.
fn region(lengths: &[u64]) -> Vec<Span> {
    lengths.iter().map(|&length| span(0, (length - 1) as u32)).collect()
}

fn lengths() -> impl Strategy<Value = Vec<u64>> {
    let length = prop_oneof![1u64..4, 1u64..1000, (1u64 << 31)..=(1u64 << 32)];
    prop::collection::vec(length, 7)
}

proptest! {
    #[test]
    fn densities_compare_as_naive_fractions_do(
        regions in prop::collection::vec((lengths(), prop::collection::vec(1u64..3, 7)), 3),
        n_rows in prop::collection::vec(prop_oneof![5u64..15, 1u64..1 << 31], 3),
    ) {
        let whole = vec![span(0, u32::MAX); 7];
        let mut volumes = Volumes::within(&whole, 3);
        let mut naive = Vec::new();
        for (lengths, hole) in &regions {
            let hole: Vec<u64> = hole.iter().zip(lengths).map(|(&a, &b)| a.min(b)).collect();
            let is_holed = hole != *lengths;
            let holes = if is_holed { region(&hole) } else { Vec::new() };
            volumes.push(&region(lengths), &holes);
            let outer = volume(lengths);
            naive.push(if is_holed { minus(&outer, &volume(&hole)) } else { outer });
        }
        let densities = Densities::new(n_rows.clone(), volumes);
        for (a, b) in [(0, 1), (1, 2), (2, 0), (1, 1)] {
            let of = |rows: usize, volume: usize| times(&naive[volume], n_rows[rows].into());
            let expected = compared(&of(a, b), &of(b, a));
            prop_assert_eq!(densities.compare(a as u32, b as u32), expected);
        }
        // Of two, the nearer is the one of the lesser quotient.
        let quotient = |a: usize, b: usize| {
            let of = |rows: usize, volume: usize| times(&naive[volume], n_rows[rows].into());
            match compared(&of(a, b), &of(b, a)) {
                Ordering::Less => (of(b, a), of(a, b)),
                _ => (of(a, b), of(b, a)),
            }
        };
        let ((above_1, below_1), (above_2, below_2)) = (quotient(0, 1), quotient(0, 2));
        let order = compared(&product_of(&above_1, &below_2), &product_of(&above_2, &below_1));
        let expected = if order.is_le() { 1 } else { 2 };
        prop_assert_eq!(densities.nearest(0, [1, 2].into_iter()), Some(expected));
        prop_assert_eq!(densities.nearest(0, [2, 1].into_iter()), Some(expected));
    }
}

#[test]
fn sixty_four_attributes_of_all_codes_have_room_many_times() {
    let whole = vec![span(0, u32::MAX); 64];
    let mut volumes = Volumes::within(&whole, 3);
    (0..3).for_each(|_| volumes.push(&whole, &[]));
    let densities = Densities::new(vec![1, 1, 2], volumes);
    assert_eq!(densities.compare(0, 1), Ordering::Equal);
    assert_eq!(densities.compare(2, 1), Ordering::Greater);
    let groups = Lists::of_groups(&[0, 1, 0]);
    let merged = densities.merged(&groups);
    // Three rows in twice the space.
    assert_eq!(merged.compare(0, 1), Ordering::Greater);
}
