//! Secrets, and what is put in their place.
