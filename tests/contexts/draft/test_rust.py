"""The outline of a Rust file: its doc comment, its exports and its imports."""

import pytest

from contexthall.contexts.draft.languages.rust import RUST

FILE = b"""\
//! # Jobs
//!
//! Runs
//! jobs.
//!
//! More about it.

use std::collections::{HashMap, hash_map::{self, Entry}};
use crate::a::b as c;
use super::*;
pub use self::inner::{Thing, Other as Another};
pub use prelude::*;
extern crate alloc;
mod inner;
pub mod outer;
mod here { pub fn no() {} }

/// Runs it.
///
/// # Panics
#[inline]
pub async unsafe fn run<'a, T: Into<String>>(
    x: &'a T, // what
    f: impl Fn(&str) -> Result<(), ()>,
) -> Result<[u8; 4], Box<dyn Error>>
where
    T: Send,
{
}
pub(crate) fn hidden() {}
fn private() {}
pub struct Job<T> where T: Copy { x: T }
pub struct Json<T>(pub T);
pub struct Id(u32);
pub struct Unit;
#[derive(Debug)]
pub enum Kind { A, B(u8) }
pub trait Doer: Send + Sync { fn x(); }
pub type Pair<T> = (T, T);
pub const KEY: &str = "secret";
pub static mut COUNT: [u8; 2] = [0; 2];
pub const fn size() -> usize { 1 }
impl Job<u8> { pub fn method(&self) {} }
#[macro_export]
macro_rules! job { () => {} }
macro_rules! own { () => {} }
#[doc(hidden)]
pub fn not_shown() {}
#[cfg(test)]
pub mod tests {}
"""


def test_a_file_says_all_of_this() -> None:
    found = RUST.read(FILE)
    assert found.doc == "Runs jobs."
    assert found.imports == (
        *("std::collections", "std::collections::hash_map", "crate::a::b", "super", "self::inner", "prelude", "alloc"),
        "self::outer",
    )
    assert [export.signature for export in found.exports] == [
        "Thing",
        "Another",
        "pub use prelude::*",
        "pub mod outer",
        (
            "pub async unsafe fn run<'a, T: Into<String>>(x: &'a T, f: impl Fn(&str) -> Result<(), ()>) "
            "-> Result<[u8; 4], Box<dyn Error>> where T: Send"
        ),
        "pub struct Job<T> where T: Copy",
        "pub struct Json<T>(pub T)",
        "pub struct Id",
        "pub struct Unit",
        "pub enum Kind",
        "pub trait Doer: Send + Sync",
        "pub type Pair<T> = (T, T)",
        "pub const KEY: &str",
        "pub static mut COUNT: [u8; 2]",
        "pub const fn size() -> usize",
        "macro_rules! job",
    ]
    assert found.exports[4].doc == "Runs it."


@pytest.mark.parametrize("broken", ["pub fn broken( {\n", "pub struct {\n", "impl Y {\n", "}\n"])
def test_a_syntax_error_costs_its_own_lines(broken: str) -> None:
    found = RUST.read(f"pub fn first(x: u8) {{}}\n\n{broken}\npub fn last() {{}}\n".encode())
    assert [export.signature for export in found.exports] == ["pub fn first(x: u8)", "pub fn last()"]
