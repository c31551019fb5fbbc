//! Rows of a table as points in lanes, for tests that split points.

use albers_partition::split::Point;

use crate::table::Table;

pub type Lanes = Point<12>;

pub fn points_of(table: &Table) -> Vec<Lanes> {
    let mut points = vec![[0; 12]; table.n_rows];
    for (axis, column) in table.columns.iter().enumerate() {
        points.iter_mut().zip(column).for_each(|(point, &code)| point[axis] = code);
    }
    points
}
