//! Hand-derived counts.
