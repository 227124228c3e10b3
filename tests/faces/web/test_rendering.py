"""Documents look as their markup means, and nothing in them is more than text."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from contexthall.core import limits
from contexthall.faces.web import rendering
from contexthall.faces.web.app import STATIC
from contexthall.faces.web.rendering import Node, rendered


def shown(text: str) -> str:
    """What the elements of a text are, as one line: `p(words strong(words))`."""
    found = rendered(text)
    assert found is not None
    return " ".join(map(_line, found))


def _line(node: Node) -> str:
    if isinstance(node, str):
        return node
    more = "".join(f"[{node[name]}]" for name in ("href", "start") if name in node)
    return f"{node['tag']}{more}({''.join(map(_line, node['children']))})"


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("# Keys\n\nRotate **now**, *please*, `k`.", "h3(Keys) p(Rotate strong(now), em(please), code(k).)"),
        ("# A\n\n### B\n\n## C\n\n# D", "h3(A) h4(B) h4(C) h3(D)"),
        ("### only\n\n###### deep", "h3(only) h4(deep)"),
        ("- a\n- b\n  1. c", "ul(li(a)li(bol[1](li(c))))"),
        ("3. a\n4. b", "ol[3](li(a)li(b))"),
        ("- a\n\n- b", "ul(li(p(a))li(p(b)))"),
        ("> said\n\n---", "blockquote(p(said)) hr()"),
        ("```py\nx = 1\n```", "pre(x = 1\n)"),
        ("a\nb  \nc", "p(a\nbbr()c)"),
        ("| a | b |\n|---|---|\n| 1 | ~~2~~ |", "table(thead(tr(th(a)th(b)))tbody(tr(td(1)td(s(2)))))"),
        ("---\ntitle: x\n---\n# Y", "pre(title: x\n) h3(Y)"),
        ("", ""),
    ],
)
def test_markup_is_what_it_means(text: str, elements: str) -> None:
    assert shown(text) == elements


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("[x](https://example.org/a?b=c)", "p(a[https://example.org/a?b=c](x))"),
        ("<http://example.org>", "p(a[http://example.org](http://example.org))"),
        ("[x](../other.md#top)", "p(span(x))"),
        ("[x](//evil.example)", "p(span(x))"),
        ("[x](mailto:a@example.org)", "p(span(x))"),
        ("[x](javascript:taken())", "p([x](javascript:taken()))"),
        ("[x](java&#x73;cript:taken())", "p([x](javascript:taken()))"),
        ("[x](data:image/png;base64,AA)", "p(span(x))"),
        ("![a picture](https://evil.example/x.png)", "p([image: a picture])"),
        ("<script>taken()</script>", "p(<script>taken()</script>)"),
        ("a <img src=x onerror=taken()> b", "p(a <img src=x onerror=taken()> b)"),
        ("&lt;b&gt;", "p(<b>)"),
    ],
)
def test_nothing_in_a_document_is_more_than_text_but_links_to_the_web(text: str, elements: str) -> None:
    assert shown(text) == elements


def test_the_page_makes_the_elements_that_the_hall_names_and_no_others() -> None:
    script = (Path(STATIC) / "prose.js").read_text()
    named = re.search(r'new Set\("([a-z0-9 ]+)"', script)
    assert named is not None
    assert set(named[1].split()) == rendering.TAGS


@pytest.mark.parametrize(
    "unit", ["[", "![", "*a ", "`", "> ", "- ", "<", "[a](", "|", "_a*", "\\", "&", "~~", "# ", "\0", "[a]: b\n", "1. "]
)
def test_a_text_that_is_all_markup_is_rendered_too(unit: str) -> None:
    found = rendered((unit * limits.PAGE_RENDERED_CHARACTERS)[: limits.PAGE_RENDERED_CHARACTERS // 20])
    assert json.dumps(found)  # no deeper than JSON may be


def test_a_text_that_is_too_long_is_not_rendered() -> None:
    assert rendered("a" * (limits.PAGE_RENDERED_CHARACTERS + 1)) is None


def tags(nodes: list[Any]) -> set[str]:
    return {each["tag"] for each in nodes if isinstance(each, dict)}.union(
        *(tags(each["children"]) for each in nodes if isinstance(each, dict))
    )


def test_no_element_is_of_another_kind() -> None:
    everything = (Path(__file__).parents[3] / "README.md").read_text()
    found = rendered(everything)
    assert found is not None
    assert tags(found) <= rendering.TAGS
