"""The first sentence of a text, or nothing."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexthall.contexts.draft.syntax.readme import readme_sentence
from contexthall.contexts.draft.syntax.sentences import first_sentence, is_boilerplate
from contexthall.core import limits

PIECES = (
    "a A b. B! ? e.g. i.e. ` `` * ** _ __ [ ] ( ) ![ ]( [x](y) <b> </b> <img < > <!-- --> &lt; &amp; \\ \\* :ref: "
    ":a:`b` # > - 1. | .. :: === --- ~~~ ``` : {@link } é 文。 \u202e \x00 \ud800 … ' \" word another @param >>>"
)
pieces = st.lists(st.sampled_from([*PIECES.split(" "), " ", " ", "\n", "\n\n", "\t", "\u2028"]), max_size=30)
texts = st.one_of(st.text(max_size=60), pieces.map("".join))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Reads things. Writes things.", "Reads things."),
        ("Reads things\n   and writes\tthem.\n\nMore.", "Reads things and writes them."),
        ("Reads things\n\nArgs:\n    x: a thing", "Reads things"),
        ("Reads things\n:param x: a thing", "Reads things"),
        ("Reads things\n@param x a thing", "Reads things"),
        ("Really? Yes.", "Really?"),
        ("Handles lists, e.g. Python's, and sets.", "Handles lists, e.g. Python's, and sets."),
        ("By Mr. Smith, J. R. Doe et al. Nobody else.", "By Mr. Smith, J. R. Doe et al. Nobody else."),
        ("Needs Python 3.11 or setup.py. Then runs.", "Needs Python 3.11 or setup.py."),
        ("Runs on v1.2. and later. Done.", "Runs on v1.2. and later."),
        ("Says (loudly.) Then stops.", "Says (loudly.)"),
        ("Runs `a. B` first. Then stops.", "Runs `a. B` first."),
        ("1. First things. Second things.", "First things."),
        ("读取文件。写入文件。", "读取文件。"),
        ("", ""),
        ("\x00\u200b\n", ""),
        (">>> run()\n1", ""),
        ("Tools\n=====\n\nReads things.", "Reads things."),
        ("=====\nTools\n=====\nReads things.", "Reads things."),
        ("A title only\n============", "A title only"),
        (".. module:: a\n   :synopsis: b\n\nReads things.", "Reads things."),
        ("@fileoverview Reads things.", "Reads things."),
    ],
)
def test_the_first_sentence_ends_where_a_reader_would_stop(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("[Click](https://x.org/a_(b)) is *very* **good**", "Click is very good"),
        ("[Click][c] and [`Path`] and [x][]", "Click and `Path` and x"),
        ("[![Build](a.svg)](b) Reads ![logo](c) things", "Reads things"),
        ("**[Bold](x) and *both* too**", "Bold and both too"),
        ("Takes `*args` and ``**kwargs``", "Takes `*args` and `**kwargs`"),
        ("See :class:`~a.b.Path`, :ref:`the guide <x>` and :pep:`8`", "See `Path`, the guide and PEP 8"),
        ("A `server <https://x.org>`_ and `client`_ [1]_", "A server and client"),
        ("Wraps {@link Foo} and {@link Bar|the bar}", "Wraps `Foo` and the bar"),
        ("<b>Fast</b> &amp; small<br>tool <https://x.org>", "Fast & small tool https://x.org"),
        ("Maps Vec<T> to a < b, 2 * 3 * 4 and list[int]", "Maps Vec<T> to a < b, 2 * 3 * 4 and list[int]"),
        ("Keeps __init__ and snake_case_names, drops _this_", "Keeps __init__ and snake_case_names, drops this"),
        ("Fast :rocket: \x1b[31mthing\u202e", "Fast [31mthing"),
    ],
)
def test_markup_is_reduced_to_its_text(markup: str, text: str) -> None:
    assert first_sentence(markup) == text


def test_a_long_sentence_is_cut_at_a_word() -> None:
    assert first_sentence("one two, three four", most=12) == "one two…"
    assert first_sentence("x" * 300) == "x" * 199 + "…"
    assert first_sentence("word", most=0) == ""


README = """---
title: x
---
<!-- a comment

with a paragraph. -->
<p align="center">
  <img src="x.svg">
</p>

# Tool [![CI](a)](b)

[![Build](a)](b) [![More](c)](d)
![x][y]

[Docs](a) | [Install](b) | [Blog](c)

> [!NOTE]
> This is moving.

- [One](#one)
- [Two](#two)

| a | b |
|---|---|
| c | d |

```console
$ run the thing now
```

Table of contents of it all

**Documentation**: <https://x.org>

[Tool] reads **things** from [disk](d). It also writes.

[Tool]: https://x.org
"""


REFERENCES = ".. |ci| image:: a\n.. |x| replace:: all\n.. _tool: b"


def test_a_readme_speaks_with_its_first_paragraph_of_prose() -> None:
    assert readme_sentence(README.encode(), "README.md") == "Tool reads things from disk."


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("README.rst", f"====\nTool\n====\n\n|ci|\n\nA tool_ for |x|.\n\n{REFERENCES}", "A tool for all."),
        ("README.rst", ".. image:: a\n   :alt: Not this\n\n:Version: 1\n\nA tool for all.", "A tool for all."),
        ("README.txt", "TOOL\n\nA tool for all. Really.", "A tool for all."),
        ("README", "A tool for\nall of us", "A tool for all of us"),
        ("README.md", "Tool\n====\n\nA tool for all.", "A tool for all."),
        ("README.md", "# Tool\n\n> A tool for all.", "A tool for all."),
        ("README.md", "# Tool\n\n> “Any colour you like.”\n\nA tool for all.", "A tool for all."),
        ("README.md", "# Tool\n\nTool is the tool for all:\n\n- a", "Tool is the tool for all"),
        ("README.md", "# Tool\n\nIt comes with:\n\n- a", ""),
        ("README.md", "# Examples\n\nThese examples show the tool.", "These examples show the tool."),
        ("README.md", "# Tool\n\n## Installation\n\nRun the installer twice.\n\n### Mac\n\nUse the other one.", ""),
        ("README.md", "# Tool\n\n## Install\n\nRun it.\n\n## About\n\nA tool for all.", "A tool for all."),
        ("README.md", "# Tool\n\n    indented code is here\n\n~~~\nfenced code is here\n~~~", ""),
        ("README.md", "# Tool\n\nThis project was bootstrapped with Create React App.", ""),
        ("README.md", "<h1>Tool</h1>\nA tool for all.", "A tool for all."),
        ("README.md", "<img\n  src='x'\n>\n\nA tool for all.", "A tool for all."),
        ("README.md", "Licensed under the MIT licence", ""),
        ("README.md", "", ""),
        ("README.adoc", "A tool for all.", ""),
        ("README.md", "A tool\0 for all.", ""),
    ],
)
def test_a_readme_that_says_nothing_in_prose_says_nothing(name: str, text: str, sentence: str) -> None:
    assert readme_sentence(text.encode(), name) == sentence


def test_a_readme_may_be_of_any_encoding() -> None:
    assert readme_sentence("\ufeffA tool for café guests.".encode(), "README.md") == "A tool for café guests."
    assert readme_sentence("A tool for café guests.".encode("latin-1"), "README.md") == "A tool for caf\ufffd guests."


@pytest.mark.parametrize(
    "sentence",
    [
        "Copyright 2020 The Authors.",
        "(c) 2020 Somebody",
        "SPDX-License-Identifier: MIT",
        "Licensed under the Apache License, Version 2.0.",
        "This file is part of Tool.",
        "#!/usr/bin/env python3",
        "-*- coding: utf-8 -*-",
        "Auto-generated by protoc.",
        "Code generated by mockgen. DO NOT EDIT.",
        "TODO: write this",
        "Package tool.",
        "The tool module.",
        "Top-level package for Tool.",
        "Add your description here",
        "Tool.",
        "tool.command",
        "",
    ],
)
def test_some_sentences_say_nothing(sentence: str) -> None:
    assert is_boilerplate(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Package gin implements a HTTP web framework called gin.",
        "The tool module reads things.",
        "Terminal styling",
        "MIT-licensed parser of copyright notices",
        "Generate code from schemas.",
        "读取文件。",
    ],
)
def test_others_say_something(sentence: str) -> None:
    assert not is_boilerplate(sentence)


@given(texts, st.integers(0, 40))
def test_a_sentence_is_one_short_line_that_answers_itself(text: str, most: int) -> None:
    sentence = first_sentence(text, most)
    assert len(sentence) <= most
    assert sentence == " ".join(sentence.split())
    assert sentence == "" or sentence.isprintable()
    assert first_sentence(sentence, most) == sentence


@settings(max_examples=60)
@given(
    st.one_of(st.binary(max_size=80), texts.map(lambda text: text.encode("utf-8", "replace"))),
    st.sampled_from([".md", ".rst", ""]),
)
def test_a_readme_gives_one_short_line_whatever_it_holds(data: bytes, suffix: str) -> None:
    sentence = readme_sentence(data, f"README{suffix}")
    assert len(sentence) <= 200
    assert len(sentence.splitlines()) <= 1
    assert not (sentence and is_boilerplate(sentence))


HOSTILE = ["[", "[a](b", "`", "``a", "<", "<!--", "*a", "_a ", "a", "e.g. A ", ":a:", "|a", "<p>\n\n"]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_costs_no_more_than_its_length(piece: str) -> None:
    text = piece * (16 * limits.PROSE_CHARACTERS // len(piece))
    began = time.process_time()
    first_sentence(text)
    readme_sentence(text.encode(), "README.md")
    is_boilerplate(text)
    # A thirtieth of it suffices; what is quadratic takes minutes.
    assert time.process_time() - began < 5
