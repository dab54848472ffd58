//! A directory that somebody else wrote.
