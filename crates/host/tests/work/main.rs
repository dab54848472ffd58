//! Work items on trees of files, which the tests make.

mod tree_freeze;
mod tree_hostile;
mod tree_kept;
mod tree_repository;
mod tree_world;
