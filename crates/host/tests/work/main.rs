//! Work items on a file system.

mod key_file;
mod publish_commit;
mod publish_crash;
mod publish_lock;
mod publish_property;
mod publish_rules;
mod publish_world;
