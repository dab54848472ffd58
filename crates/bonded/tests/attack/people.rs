//! What a person at a terminal is shown and asked.
