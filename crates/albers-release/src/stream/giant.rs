//! Classes that do not fit in memory.

use albers_storage::spill::Block;

use super::bucket::Bucket;
use super::{Door, Shuffle};
use crate::error::{ReleaseError, Result};

pub(super) fn scatter_giant(
    _shuffle: &mut Shuffle<'_>,
    _blocks: &[Block],
    _leaf_id: u64,
    _region: Option<&[(u32, u32)]>,
) -> Result<u64> {
    Err(ReleaseError::RowsChanged)
}

pub(super) fn pass_giant(
    _door: &mut Door<'_, '_>,
    _bucket: Bucket,
    _prefix: u64,
    _n_bits: u32,
    refused: ReleaseError,
) -> Result<()> {
    Err(refused)
}
