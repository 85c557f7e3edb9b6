//! The counting core of blastdoor: what `rules/meter.py` and `rules/tenant_sheets.py` do for each event, for many at once.
//!
//! Read in this order: `instant`, `escapes`, `cursor`, `event`, `lot`, `window`, `names`, `sheets`, `json`, `journal`,
//! `counter`, `memory`, and the functions that `native/library.py` calls, in `calls` and `sheet_calls`.

#![deny(unsafe_op_in_unsafe_fn)]
#![allow(clippy::missing_safety_doc)] // it is said once, of `blastdoor_adopt`

#[cfg(test)]
mod call_tests;
pub mod calls;
pub mod counter;
pub mod cursor;
pub mod escapes;
pub mod event;
pub mod instant;
pub mod journal;
pub mod json;
pub mod lot;
pub mod memory;
pub mod names;
pub mod sheet_calls;
pub mod sheets;
pub mod window;
