//! The moments in which a process may be killed, so that tests do it at each of them.

/// A moment in which the process may be killed: tests do.
pub(crate) fn moment() {
    #[cfg(test)]
    fault::LEFT.with(|left| match left.get() {
        Some(0) => {
            left.set(None);
            std::panic::panic_any("killed");
        }
        Some(more) => left.set(Some(more - 1)),
        None => {}
    });
}

#[cfg(test)]
pub(crate) mod fault {
    use std::cell::Cell;

    thread_local! {
        /// How many moments are left until the process is killed.
        pub(crate) static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    }
}
