//! The counting core of blastdoor: what `rules/meter.py` and `rules/tenant_sheets.py` do for each event, for many at once.
//!
//! Read in this order: `instant`, `event`, `window`, `names`, `sheets`, `json`, `journal`, `counter`, `calls`. Only `calls`,
//! the functions that `native/library.py` calls, holds unsafe code: pointers that are good for the length of a call.

#![deny(unsafe_op_in_unsafe_fn)]

pub mod calls;
pub mod counter;
pub mod event;
pub mod instant;
pub mod journal;
pub mod json;
pub mod names;
pub mod sheets;
pub mod window;
