//! albers
