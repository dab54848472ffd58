//! Work items on trees of files, which the tests make.

mod key_file;
mod publish_commit;
mod publish_crash;
mod publish_lock;
mod publish_property;
mod publish_rules;
mod publish_saves;
mod publish_world;
mod tree_copies;
mod tree_copies_random;
mod tree_freeze;
mod tree_hostile;
mod tree_kept;
mod tree_machine;
mod tree_process;
mod tree_repository;
mod tree_world;
