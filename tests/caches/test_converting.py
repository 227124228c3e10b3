"""What becomes of HTML, notebooks and text in other encodings."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.caches.making import CREATED_AT, library_of, write_sources

from contexthall.caches.build.builder import Built, CacheBuilder
from contexthall.caches.build.convert.encoding import decode
from contexthall.caches.build.convert.failure import ConversionError
from contexthall.caches.build.convert.html import html_to_markdown
from contexthall.caches.build.convert.notebook import notebook_to_markdown
from contexthall.caches.build.convert.registry import converter_of
from contexthall.caches.build.selection import Choice
from contexthall.caches.model.headings import headings_of
from contexthall.caches.query.scorers import SECTIONS
from contexthall.core import limits
from contexthall.core.errors import DiskError, SourcesError
from contexthall.system.disk import Disk

VECTORS = Path(__file__).parents[2] / "vectors" / "convert"
PAGES = sorted(path.name for path in VECTORS.iterdir() if path.suffix in {".html", ".ipynb"})
TAGS = [
    "a",
    "b",
    "p",
    "div",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "tr",
    "td",
    "pre",
    "code",
    "h1",
    "h3",
    "main",
    "nav",
]


def headings(markdown: str) -> list[str]:
    return [heading.text for heading in headings_of(markdown, 0, ".md")]


@pytest.mark.parametrize("page", PAGES)
def test_pages_of_every_generator_become_the_markdown_beside_them(page: str) -> None:
    converter = converter_of(page)
    assert converter is not None
    assert converter.convert((VECTORS / page).read_bytes()).text == (VECTORS / f"{page}.expected").read_text()


@pytest.mark.parametrize("begun", ['{% extends "base.html" %}', "\n {{ content }}", "{#- who -#}<p>", "<%= yield %>"])
def test_a_template_of_pages_is_no_page(begun: str) -> None:
    converter = converter_of("overrides/main.html")
    assert converter is not None
    with pytest.raises(ConversionError, match="it is a template of pages, and no page"):
        converter.convert(f"{begun}<p>text</p>".encode())
    assert converter.convert(b"<p>{{ this is shown }}</p>").text == "{{ this is shown }}\n"


@given(
    st.lists(st.sampled_from([*(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), "x", " ", "<!--", "&lt;"]))
)
def test_tag_soup_is_converted_whatever_it_is(pieces: list[str]) -> None:
    assert headings(html_to_markdown("".join(pieces))).count("") == 0


@given(st.text())
def test_text_that_is_no_html_never_makes_a_heading_or_a_fence(text: str) -> None:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    assert headings(html_to_markdown(f"<p>{escaped}</p><h2>End</h2>")) == ["End"]


@pytest.mark.parametrize(
    "unit",
    [
        *("<div>", "<ul><li>x", "<dl><dt>a<dd>b", "<table><tr><td>x", "<blockquote>x", "<!--", "<a ", '<a b="'),
        *("<a href=http://x>x", "<dl><dt class=sig><i class=descname>a</i><dd>", "<b><p>", "<h1>x", "<code>x<p>"),
        *("<main>x", "&#" + "9" * 50, "<dl><dt id=a>b</dl>c", "<a href=#b>#"),
    ],
)
def test_bombs_of_html_take_time_in_proportion(unit: str) -> None:
    assert len(html_to_markdown(unit * 20_000)) < 80 * 20_000  # a quadratic converter would not end


def test_a_heading_ends_the_list_and_the_table_that_it_is_in() -> None:
    page = html_to_markdown("<ul><li><h2>One</h2>a</li></ul><table><tr><td><h2>Two</h2>b</td><td>c</td></tr></table>")
    assert headings(page) == ["One", "Two"]


def test_what_follows_a_list_of_terms_is_under_the_heading_before_it() -> None:
    terms = '<dl><dt id="a">a</dt><dd>1<dl><dt id="b">b</dt><dd>2</dd></dl>3</dd></dl>'
    assert headings(html_to_markdown(f"<h1>Top</h1>{terms}4")) == ["Top", "a", "b", "a", "Top"]
    assert headings(html_to_markdown(f"<h1>Top</h1>{terms}<h2>Next</h2>4{terms}")) == [
        "Top",
        "a",
        "b",
        "a",
        "Next",
        "a",
        "b",
        "a",
    ]
    assert headings(html_to_markdown(f"{terms}4")) == ["a", "b", "a"]
    assert html_to_markdown(f"<h1>{'x' * 201}</h1>{terms}4").count("x" * 201) == 1


def test_a_heading_ends_with_the_end_tag_of_any_heading() -> None:
    assert html_to_markdown("<h2>Horns</h3>loud</h1><h4>Reeds</h5>") == "## Horns\n\nloud\n\n#### Reeds\n"


def test_a_listing_by_doxygen_has_a_line_for_each_of_its_elements() -> None:
    groups = '<div class="ingroups"><a href="group.html">Linear problems</a></div>'
    title = f'<div class="headertitle"><div class="title">Solving{groups}</div></div>'
    lines = '<div class="line">int main()</div>\n<div class="line"> </div>\n<div class="line">{ }</div>\n'
    page = f'{title}<p>Do:</p><div class="fragment">{lines}</div><!-- fragment -->'
    assert html_to_markdown(page) == "# Solving\n\nDo:\n\n```\nint main()\n \n{ }\n```\n"


@pytest.mark.parametrize(("end", "between"), [("", ""), ("\n", ""), ("", "\n")])
def test_code_elements_of_one_listing_are_lines_of_it(end: str, between: str) -> None:
    lines = [f"<code>{line}{end}</code>" for line in ("first = 1", "sec<b>ond</b>", "third")]
    assert "first = 1\nsecond\nthird\n" in html_to_markdown(f"<pre>{between.join(lines)}</pre>")


def test_code_within_a_line_stays_in_it() -> None:
    assert "# foo()" in html_to_markdown("<h1><code>foo</code><code>()</code></h1>").replace("`", "")
    assert "a(b) c" in html_to_markdown("<pre><code>a</code>(<code>b</code>) <code>c</code></pre>")


def test_a_page_without_a_title_of_its_own_gets_that_of_the_browser() -> None:
    assert html_to_markdown("<title>Tides &amp; ports</title><p>x") == "# Tides & ports\n\nx\n"
    assert html_to_markdown("<title>Tides - Harbour</title><h2>Tides</h2>x") == "## Tides\n\nx\n"


def test_a_page_whose_sections_are_all_of_the_first_level_gets_the_title_of_the_browser() -> None:
    several = "<h1>1. Overview</h1>x<h1>2. Ebb</h1>y"
    assert html_to_markdown(f"<title>Tides</title>{several}") == "# Tides\n\n# 1. Overview\n\nx\n\n# 2. Ebb\n\ny\n"
    assert html_to_markdown("<title>Harbour</title><h1>Tides</h1>x") == "# Tides\n\nx\n"


def test_a_heading_that_names_the_site_is_not_the_title_of_the_page() -> None:
    page = "<title>Tides | Harbour Guide</title><h1>Harbour guide</h1><h2>Tides</h2>x"
    assert html_to_markdown(page).startswith("# Tides | Harbour Guide\n\n# Harbour guide\n\n## Tides\n")


def test_a_sign_that_links_to_its_heading_goes_and_other_signs_stay() -> None:
    page = '<h2>Rope#<span><a href="#rope">#</a></span></h2><p>Tie <a href="#knot">§ 2</a> in <a href="c.html">#</a>.'
    assert html_to_markdown(page) == "## Rope#\n\nTie § 2 in #.\n"


def test_what_is_never_closed_ends_with_the_page() -> None:
    assert html_to_markdown("<p>a<!-- b") == "a\n"
    assert html_to_markdown("<p>a<b c") == "a\n"
    assert html_to_markdown("<p>a</é>b") == "ab\n"
    assert html_to_markdown("<p>a<script>b") == "a\n"


def test_cells_claim_no_more_columns_than_a_table_can_have() -> None:
    assert html_to_markdown('<table><tr><td colspan="999999999">a<td>b<tr><td>c').startswith("| a | b |\n")


def test_a_notebook_says_in_which_language_its_code_is() -> None:
    cells = [{"cell_type": "code", "source": "x <- 1", "outputs": []}]
    r = {"cells": cells, "metadata": {"language_info": {"name": "R"}}}
    assert notebook_to_markdown(json.dumps(r)) == "```r\nx <- 1\n```\n"
    assert notebook_to_markdown(json.dumps({"cells": cells})) == "```\nx <- 1\n```\n"
    assert (
        notebook_to_markdown(json.dumps({"cells": cells, "metadata": {"kernelspec": {"language": "a\nb"}}}))[:4]
        == "```\n"
    )


def test_notebooks_of_before_2015_are_read_too() -> None:
    cells = [{"cell_type": "heading", "level": 2, "source": "Old"}, {"cell_type": "code", "input": "1", "outputs": []}]
    assert notebook_to_markdown(json.dumps({"worksheets": [{"cells": cells}]})) == "## Old\n\n```\n1\n```\n"


@pytest.mark.parametrize(
    ("notebook", "complaint"),
    [
        ('{"cells": [', "it is not JSON: Expecting value"),
        ("[]", "no cells"),
        ("{}", "no cells"),
        ('{"cells": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_broken_notebook_is_named_for_what_it_is(notebook: str, complaint: str) -> None:
    with pytest.raises(ConversionError, match=complaint):
        notebook_to_markdown(notebook)


def test_a_notebook_of_odd_values_is_read_as_far_as_it_goes() -> None:
    cells = [
        1,
        None,
        {},
        {"cell_type": "markdown", "source": [1, "a", None]},
        {"cell_type": "code", "source": {}, "outputs": 3},
    ]
    assert notebook_to_markdown(json.dumps({"cells": cells, "metadata": []})) == "a\n"
    assert notebook_to_markdown('{"cells": [{"cell_type": "markdown", "source": "\\ud800"}], "x": NaN}') == "\ufffd\n"


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        ("Größe der Schlüssel", "latin-1", "cp1252"),
        ("Voilà la clé déjà changée à l'été. Où est-ce que ça mène ?", "latin-1", "cp1252"),
        ("Keys “rotate” often — it’s so", "cp1252", "cp1252"),
        ("Klíče je třeba měnit často. Příliš žluťoučký kůň.", "cp1250", "cp1250"),
        ("Ключи нужно менять часто. Это важно.", "cp1251", "cp1251"),
        ("Ключи нужно менять часто. Это важно.", "koi8-r", "koi8_r"),
        ("鍵は頻繁に交換してください。", "shift_jis", "cp932"),
        ("鍵は頻繁に交換してください。", "euc-jp", "euc_jp"),
        ("keys, 鍵", "utf-16", "utf-16"),
        ("keys, 鍵", "utf-32", "utf-32"),
        ("# -*- coding: iso-8859-15 -*-\n5 €", "iso-8859-15", "iso-8859-15"),
        ('<meta charset="iso-8859-15">5 €', "iso-8859-15", "iso-8859-15"),
        ("charset=nonsense Größe der Schlüssel", "latin-1", "cp1252"),
        ("charset=base64 Größe der Schlüssel", "latin-1", "cp1252"),
        ("keys, 鍵", "utf-8", ""),
        ("keys, 鍵", "utf-8-sig", ""),
    ],
)
def test_encodings_are_recognised(text: str, encoding: str, name: str) -> None:
    decoded = decode(text.encode(encoding))
    assert (decoded.text.removeprefix("\ufeff"), decoded.encoding) == (text, name)


def test_one_wrong_byte_does_not_make_utf_8_something_else() -> None:
    assert decode("鍵は頻繁に交換してください。".encode() + b"\xff") == (
        "鍵は頻繁に交換してください。\ufffd",
        "damaged utf-8",
    )


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe", b"\xff\xfe\x00"])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(ConversionError):
        decode(data)


def compile_pages(folder: Path, files: dict[str, bytes], *, strict: bool = False) -> Built:
    sources = write_sources(folder / "sources", {})
    for name, data in files.items():
        (sources / name).write_bytes(data)
    builder = CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS)
    return builder.build(str(sources), str(folder / "cache"), choice=Choice(("*",)), strict=strict)


FILES = {"a.html": b"<h1>Keys</h1><p>rotate", "b.ipynb": b"{", "c.txt": "Größe der Schlüssel".encode("latin-1")}


def test_what_cannot_be_converted_is_left_out_and_named(tmp_path: Path) -> None:
    built = compile_pages(tmp_path, FILES)
    assert built.document_count == 2
    assert list(built.failures) == ["b.ipynb"]
    assert dict(built.encodings) == {"c.txt": "cp1252"}
    library = library_of(tmp_path)
    assert not library.verify(library.find("cache"))
    assert '"# Keys\\n\\nrotate\\n"' in library.resolve(library.find("cache"), "rotate keys", 4000).text


def test_a_strict_build_fails_and_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(SourcesError, match=r"b\.ipynb cannot be converted: it is not JSON"):
        compile_pages(tmp_path, FILES, strict=True)
    assert not (tmp_path / "cache").exists()


def test_a_file_whose_name_is_not_utf_8_is_left_out_and_named(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.md")
    assert dict(compile_pages(tmp_path, {**FILES, name: b"# Hours"}).failures)[name] == "its name is not UTF-8"
    library = library_of(tmp_path)
    assert library.resolve(library.find("cache"), "hours", 4000).ids == ()
    with pytest.raises(SourcesError, match="caf\ufffd\\.md cannot be converted: its name is not UTF-8"):
        compile_pages(tmp_path / "sources", {name: b"# Hours"}, strict=True)


@pytest.mark.usefixtures("bound_by_permissions")
def test_a_file_that_may_not_be_read_is_left_out_and_named(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", {"locked.md": "# Keys", "locked/a.md": "# Locks"})
    (sources / "locked.md").chmod(0)
    (sources / "linked.md").symlink_to("locked/a.md")
    (sources / "locked").chmod(0)
    choice = Choice(exclude=("/locked",))
    built = CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS).build(str(sources), str(tmp_path / "c"), choice=choice)
    (sources / "locked").chmod(0o755)
    reason = "it may not be read: Permission denied"
    assert dict(built.failures) == {"linked.md": reason, "locked.md": reason}


def test_a_disk_that_fails_costs_no_page(tmp_path: Path) -> None:
    sources, failing = write_sources(tmp_path / "sources", {"a.md": "# Keys"}), [errno.EACCES, 0, errno.EIO]

    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if call is os.open and str(arguments[0]).endswith("a.md") and (number := failing.pop(0)):
            raise OSError(number, os.strerror(number))
        return call(*arguments, **options)

    builder = CacheBuilder(Disk(perform), CREATED_AT, scorer=SECTIONS)
    assert builder.build(str(sources), str(tmp_path / "cache")).document_count == 1  # a refusal that passes
    with pytest.raises(DiskError, match=r"a\.md: Input/output error"):
        builder.build(str(sources), str(tmp_path / "cache"), force=True)


def test_a_page_that_is_too_large_is_not_converted() -> None:
    converter = converter_of("a.html")
    assert converter is not None
    with pytest.raises(ConversionError, match="larger than 16 MiB"):
        converter.convert(bytes(limits.HTML_BYTES + 1))
