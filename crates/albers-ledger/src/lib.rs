//! What all releases of a living index tell together.
