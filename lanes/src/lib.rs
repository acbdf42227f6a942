//! tilewright lanes
