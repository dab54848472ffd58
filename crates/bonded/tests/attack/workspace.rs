//! Users of one workspace against one another.
