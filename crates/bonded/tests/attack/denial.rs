//! Denial of service, and other users of the machine.
