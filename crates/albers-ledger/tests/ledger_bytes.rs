//! A ledger as bytes: what is stored is read back, and what is no ledger is refused.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::collections::BTreeMap;

use albers_ledger::{DeadRow, Ledger, LedgerError, Needs, NewRelease, PieceKey, RowFacts};
use albers_privacy::{ClassSummary, Criterion, GroundDistance, Requirement, SensitiveColumn};

type Stored = BTreeMap<PieceKey, Vec<u8>>;

fn requirement() -> Requirement {
    let column = SensitiveColumn {
        name: "disease".into(),
        n_values: 4,
        distance: GroundDistance::Equal,
        numbers: None,
    };
    Requirement::new(2, true, vec![column], vec![(0, Criterion::TCloseness { t: 0.6 })]).unwrap()
}

fn facts(row: u32, codes: &[u32; 1]) -> RowFacts<'_> {
    RowFacts { subject: u64::from(row % 10), codes }
}

/// Publishes some rows in classes of three and names the others as waiting.
fn publish(ledger: &mut Ledger, rows: &[u32], waiting: &[u32]) -> Result<(), LedgerError> {
    let requirement = requirement();
    let mut whole = ClassSummary::new(requirement.shape());
    rows.iter().for_each(|&row| whole.add(0, &[row % 4]));
    let mut opened = ledger.open(NewRelease::new("r", 2, "k = 2"), &requirement, Some(&whole))?;
    for class in rows.chunks(3) {
        let codes: Vec<[u32; 1]> = class.iter().map(|row| [row % 4]).collect();
        opened.class(class.iter().zip(&codes).map(|(&row, codes)| (row, facts(row, codes))))?;
    }
    for &row in waiting {
        opened.waiting(row, facts(row, &[row % 4]))?;
    }
    opened.finish()?.keep(true)
}

/// A ledger with everything in it, and a deleted row: changes, deletions, sets below, a recoding.
fn history() -> (Ledger, DeadRow) {
    let mut ledger = Ledger::new(Needs::of(&requirement()));
    publish(&mut ledger, &[0, 1, 2, 3, 4, 5, 6, 7, 8], &[]).unwrap();
    ledger.replace(1, 11, true, facts(1, &[1])).unwrap();
    ledger.replace(2, 12, true, facts(2, &[2])).unwrap();
    ledger.delete(5, facts(5, &[1])).unwrap();
    publish(&mut ledger, &[0, 11, 12, 3, 4, 6, 7], &[8]).unwrap();
    ledger.replace(11, 21, true, facts(11, &[3])).unwrap();
    let dead = ledger.delete(12, facts(12, &[0])).unwrap().unwrap();
    ledger.recode(&[4], &|_, code| 3 - code).unwrap();
    (ledger, dead)
}

fn stored(ledger: &Ledger) -> Stored {
    ledger.pieces().into_iter().map(|piece| (piece.key, piece.bytes.unwrap())).collect()
}

/// Whatever was read from damaged bytes goes on or is refused; it does not panic.
fn use_it(mut ledger: Ledger, dead: &DeadRow) {
    let _ = ledger.revive(dead.clone(), 31, true);
    let _ = ledger.replace(3, 33, true, facts(3, &[3]));
    let _ = ledger.delete(4, facts(4, &[0]));
    let _ = publish(&mut ledger, &[0, 21, 33, 6, 31], &[7, 8]);
    let _ = publish(&mut ledger, &[0, 21, 33], &[6, 7, 8, 31]);
    let _ = ledger.recode(&[4], &|_, code| code.wrapping_add(1));
    let _ = publish(&mut ledger, &[0, 8], &[]);
    let _ = (ledger.n_sets(), ledger.releases().count(), ledger.pieces());
    let _ = ledger.current_sets().filter_map(|set| ledger.last_class(set.id)).count();
}

#[test]
fn damaged_bytes_are_refused_or_read_and_never_panic() {
    let (ledger, dead) = history();
    let sound = stored(&ledger);
    let (mut n_refused, mut n_read) = (0, 0);
    for (&key, bytes) in &sound {
        for at in 0..bytes.len() {
            let cut = bytes[..at].to_vec();
            let flipped = [1, 2, 0x10, 0x80, 0xFF].map(|flip| {
                let mut bytes = bytes.clone();
                bytes[at] ^= flip;
                bytes
            });
            let longer = [bytes.as_slice(), &bytes[..at]].concat();
            for bytes in flipped.into_iter().chain([cut, longer]) {
                let mut stored = sound.clone();
                stored.insert(key, bytes);
                match Ledger::from_pieces(stored) {
                    Ok(ledger) => {
                        n_read += 1;
                        use_it(ledger, &dead);
                    }
                    Err(_) => n_refused += 1,
                }
            }
        }
    }
    assert!(n_refused > n_read && n_read > 0, "{n_refused} refused, {n_read} read");
}

#[test]
fn a_missing_piece_is_named() {
    let (ledger, _) = history();
    for key in stored(&ledger).into_keys() {
        let mut stored = stored(&ledger);
        stored.remove(&key);
        match Ledger::from_pieces(stored).err() {
            Some(LedgerError::Damaged { piece, .. }) => assert_eq!(piece, key),
            other => panic!("{key}: {other:?}"),
        }
    }
}

#[test]
fn a_newer_version_is_refused_by_its_number() {
    let (ledger, _) = history();
    let mut stored = stored(&ledger);
    stored.get_mut(&PieceKey::Head).unwrap()[0] = 9;
    let refused = Ledger::from_pieces(stored).err();
    assert_eq!(refused, Some(LedgerError::Version { found: 9, known: 1 }));
}

#[test]
fn a_release_writes_its_own_sets_and_an_update_a_few_pieces() {
    let requirement = Requirement::new(2, false, vec![], vec![]).unwrap();
    let mut ledger = Ledger::new(Needs::of(&requirement));
    let rows: Vec<u32> = (0..320_000).collect();
    for _ in 0..3 {
        let mut opened = ledger.open(NewRelease::new("r", 2, "k = 2"), &requirement, None).unwrap();
        rows.chunks(2).for_each(|class| opened.class_of_rows(class).unwrap());
        opened.finish().unwrap().keep(false).unwrap();
        let keys = ledger.take_changed_pieces().into_iter().map(|piece| piece.key);
        let n_sets = keys.filter(|key| matches!(key, PieceKey::Sets(_))).count();
        assert!((3..=4).contains(&n_sets), "160,000 sets in pieces of 65,520");
    }
    ledger.replace(5, 320_001, true, RowFacts::default()).unwrap();
    let keys: Vec<PieceKey> = ledger.take_changed_pieces().iter().map(|piece| piece.key).collect();
    let expected = [PieceKey::Head, PieceKey::Rows(0), PieceKey::Rows(4), PieceKey::Sets(7)];
    assert_eq!(keys, expected);
    let numbers: Vec<u64> = keys.iter().map(|key| key.to_u64()).collect();
    assert!(numbers.is_sorted());
    let back: Vec<PieceKey> = numbers.into_iter().filter_map(PieceKey::from_u64).collect();
    assert_eq!(back, expected);
}

#[test]
fn a_row_sealed_before_its_column_grew_catches_up_when_it_comes_again() {
    let (mut ledger, dead) = history();
    // A new value before code 2, and one more behind all: only the first moves any code.
    let grown = |_: usize, code: u32| if code < 2 { code } else { code + 1 };
    ledger.recode(&[4], &grown).unwrap();
    ledger.recode(&[5], &|_, code| code).unwrap();
    let sealed = DeadRow::from_bytes(&dead.to_bytes()).unwrap();
    ledger.revive(sealed, 40, false).unwrap();
    assert_eq!(ledger.set_of(40), Ok(dead.set()));
    let keys = stored(&ledger).into_keys();
    let n_recodings = keys.filter(|key| matches!(key, PieceKey::Recoding(_))).count();
    assert_eq!(n_recodings, 2, "what moves no code is not remembered");
    assert_eq!(ledger.recode(&[5, 5], &grown), Err(LedgerError::OtherRequirement));
}

#[test]
fn a_class_that_failed_lets_no_release_be_finished() {
    let (mut ledger, _) = history();
    let before = stored(&ledger);
    let requirement = requirement();
    let mut whole = ClassSummary::new(requirement.shape());
    whole.add(0, &[0]);
    let release = NewRelease::new("r", 2, "k = 2");
    let mut opened = ledger.open(release, &requirement, Some(&whole)).unwrap();
    let gone = Err(LedgerError::UnknownRow { row: 5 });
    assert_eq!(opened.class([(0, facts(0, &[3])), (5, facts(5, &[2]))]), gone);
    assert_eq!(opened.finish().err(), gone.err());
    assert!(stored(&ledger) == before);
}

#[test]
fn a_damaged_deleted_row_is_refused_or_unknown_and_never_panics() {
    let (mut ledger, dead) = history();
    let bytes = dead.to_bytes();
    for at in 0..bytes.len() {
        assert!(DeadRow::from_bytes(&bytes[..at]).is_err());
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        if let Ok(row) = DeadRow::from_bytes(&damaged) {
            assert!(ledger.revive(row, 40, false).is_err());
        }
    }
    assert_eq!(DeadRow::from_bytes(&bytes).unwrap(), dead);
    ledger.revive(dead, 40, false).unwrap();
}
