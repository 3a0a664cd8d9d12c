//! Repairs, one file each: what is mended, and why.

mod line_endings;

use super::draft::Draft;

/// One repair.
pub struct RepairRow {
    /// Its name.
    pub name: &'static str,
    /// What it mends and why.
    pub doc: &'static str,
    /// Mends the draft and says what was done; `None`, with every octet as it was, when there is nothing to mend.
    pub(super) apply: fn(&mut Draft) -> Option<String>,
}

impl std::fmt::Debug for RepairRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All repairs.
pub const REPAIRS: &[RepairRow] = &[line_endings::ROW];
