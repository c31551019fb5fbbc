//! albers-measure
