//! albers-release
