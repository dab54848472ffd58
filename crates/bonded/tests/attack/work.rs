//! Work items and the trees of other people.
