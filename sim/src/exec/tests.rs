//! Literal vectors for the ALU.
