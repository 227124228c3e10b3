"""The outline of a Go file: its package comment, its exports and its imports."""

import pytest

from contexthall.contexts.draft.languages.go import GO

FILE = b"""\
// Copyright 2020 Somebody. All rights reserved.

//go:build linux

// Package jobs runs jobs.
//
// More about it.
package jobs

import "fmt"
import (
	"net/http"
	log "example.com/log"
)

// Limit is how many.
const Limit = 3

// States.
const (
	// New is new.
	New State = iota
	Old
	hidden
	Name = "x"
)

var ErrFull, ErrEmpty = errors.New("a"), errors.New("b")
var Out io.Writer

// Job is work.
type Job struct{ a int }
type (
	Doer interface{ Do() }
	Handler func(w http.ResponseWriter, o struct {
		A int
		B string
	}) error
	ID = string
	List[T any] []T
	private struct{}
)

// Run runs it.
func Run[T any](
	job Job, // what
	f func(int) (string, error),
) (n int, err error) {
	return
}
func (j *Job) Start(ctx context.Context) error { return nil }
func (l List[T]) Len() int { return 0 }
func (p *private) Visible() {}
func private_() {}
"""


def test_a_file_says_all_of_this() -> None:
    found = GO.read(FILE)
    assert found.doc == "Package jobs runs jobs."
    assert found.imports == ("fmt", "net/http", "example.com/log")
    assert [(export.name, export.signature, export.doc) for export in found.exports] == [
        ("Limit", "const Limit", "Limit is how many."),
        ("New", "const New State", "New is new."),
        ("Old", "const Old State", ""),
        ("Name", "const Name", ""),
        ("ErrFull", "var ErrFull", ""),
        ("ErrEmpty", "var ErrEmpty", ""),
        ("Out", "var Out io.Writer", ""),
        ("Job", "type Job struct", "Job is work."),
        ("Doer", "type Doer interface", ""),
        ("Handler", "type Handler func(w http.ResponseWriter, o struct { A int; B string }) error", ""),
        ("ID", "type ID = string", ""),
        ("List", "type List[T any] []T", ""),
        ("Run", "func Run[T any](job Job, f func(int) (string, error)) (n int, err error)", "Run runs it."),
        ("Job.Start", "func (j *Job) Start(ctx context.Context) error", ""),
        ("List.Len", "func (l List[T]) Len() int", ""),
    ]


def test_a_licence_says_nothing_about_a_package() -> None:
    assert GO.read(b"// Copyright 2020 Somebody.\npackage a\n").doc == ""


@pytest.mark.parametrize("broken", ["func Broken( {\n", "type X struct {\n", "var y = [\n", "}\n"])
def test_a_syntax_error_costs_its_own_lines(broken: str) -> None:
    found = GO.read(f"package a\n\nfunc First(x int) {{}}\n\n{broken}\nfunc Last() error {{\n}}\n".encode())
    assert [export.signature for export in found.exports] == ["func First(x int)", "func Last() error"]
