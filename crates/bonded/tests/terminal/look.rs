//! What a run looks like: colours, widths, the live line, its end.
