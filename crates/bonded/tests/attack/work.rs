//! Work items and the trees of other people.

mod desk;
mod found;
mod meanwhile;
mod others;
mod programs;
mod rights;
mod saves;
