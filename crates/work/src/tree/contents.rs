//! Where contents are read from: what whoever writes files needs of those who keep them.
//!
//! Publishing needs no more than this of whoever keeps contents, so that it can be tested and used without
//! checkpoints.

use std::fmt;
use std::io::{self, Read};

use bonded_kernel::Hash;

/// Where the contents of files are kept, by their hashes. What is there has reached the disk.
pub trait Contents: fmt::Debug + Sync {
    /// The content from its beginning. An error where it is not kept, or is damaged.
    fn read(&self, content: &Hash) -> io::Result<Box<dyn Read + '_>>;
}
