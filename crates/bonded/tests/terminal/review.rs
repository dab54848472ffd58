//! A call that waits is asked about at once.
