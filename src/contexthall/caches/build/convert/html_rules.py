"""Which parts of an HTML page count, and what they are, as the generators of documentation mark them. Pure."""

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

from contexthall.caches.build.convert.html_tree import HEADINGS, Element, Node


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DROPPED_TAGS = _words(
    "head script style template noscript svg iframe object nav form button input select textarea dialog canvas video "
    "audio map footer hr title xmp noembed noframes"
)
_DROPPED_ROLES = _words("navigation search banner contentinfo complementary dialog menu menubar toolbar doc-toc")
_SELF_LINKS = _words(
    "headerlink header-anchor hash-link anchor anchorjs-link heading-anchor anchor-link self-link id_link permalink"
)
"""From a heading to itself; on anything but a link or a span they mean something else."""
_DROPPED_CLASSES = _words(
    # ways around the site
    "sphinxsidebar related mobile-nav navheader navfooter toc table-of-contents breadcrumb breadcrumbs navpath "
    "nav-path topNav top-nav bottomNav subNav sub-nav skipNav skip-nav skip-link navbar pagination prev-next-area "
    "md-sidebar md-source-file md-content__button edit-this-page theme-edit-this-page mobile-topbar nav-wrapper footer "
    # printed indexes, which have every word of the site
    "indextable genindextable modindextable genindex-jumpbox modindex-jumpbox indexdiv "
    "ingroups "
    # line numbers, buttons, pictures and words for screen readers
    "linenos lineno linenodiv lnt ln gutter line-numbers line-numbers-wrapper copybtn copy copy-button lang ttc "
    "sr-only visually-hidden rightside src-rightside srclink out-of-band notable-traits-tooltip viewcode-link "
    "test-arrow hideme logo-container sub-logo-container"
)
_DROPPED_IDS = _words("titlearea main-nav side-nav nav-tree MSearchSelectWindow MSearchResultsWindow toc TOC footer")
_LOCAL_CONTENTS = (_words("contents topic"), _words("contents local"))
_NAVIGATION = re.compile(r"(?:^|[-_ ])(?:side-?bar|menu|nav|navigation|g?toc|pager|footer)", re.IGNORECASE)
_MOSTLY_LINKS = 6, 10
_WAYS = _words("next prev previous up start contents index")
_WAY_CHARACTERS = 300
_PREFORMATTED = _words("pre listing plaintext")
_LANGUAGE_CLASS = re.compile(r"(?:language|lang|highlight-source|highlight|brush:?)-([A-Za-z][\w+#.]*)")
_LANGUAGES = {"python3": "python", "py3": "python", "ipython": "python", "ipython3": "python", "pycon3": "pycon"}
_BARE_LANGUAGES = _words(
    "bash c cpp css go haskell html java javascript js json kotlin lua php python r ruby rust scala sh shell sql swift "
    "toml ts typescript xml yaml"
)
_NO_LANGUAGES = _words("default none text plaintext plain txt guess")
_ADMONITIONS = _words(
    "admonition note tip warning caution important danger info hint theme-admonition custom-block admonitionblock"
)
_SPHINX_SIGNATURE, _RUST_SIGNATURE = "sig", "code-header"
_LOWEST_LEVEL = 6
_FOOTNOTE = "label"
_AROUND_TERMS = _words("table li blockquote")
_NAME_IN_SIGNATURE = _words("descclassname sig-prename descname sig-name fnname fn")
_COLUMNS = {"two-column-summary": 2, "three-column-summary": 3, "four-column-summary": 4}
_SIGNATURE_LINES = _words("member-signature type-signature")


class PageRules:
    """What can be said of the elements of one page."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._levels = list(_heading_levels(nodes))
        self._headings = _sums(map(bool, self._levels))
        self._code = _sums(isinstance(each, Element) and is_code_block(each) for each in nodes)
        self._tables, self._rows, self._cells = (_counts(nodes, tags) for tags in ({"table"}, {"tr"}, {"td", "th"}))
        self._text = _sums(len(each.strip()) if isinstance(each, str) else 0 for each in nodes)
        self._links = _sums(_lengths_in_links(nodes))
        self._ways = _sums(isinstance(each, Element) and each.tag == "a" and _is_way(each) for each in nodes)

    def has_heading(self, at: int) -> bool:
        """Return whether there is a heading in the element at `at`."""
        return self._within(self._headings, at) > 0

    def heading_level(self, at: int) -> int:
        """Return the level of a heading; 0 for what is none."""
        return self._levels[at]

    def table_kind(self, at: int) -> str:
        """Return what a table holds: "data", a "list", the "line" of a signature, or "parts" of the page."""
        element = self._nodes[at]
        assert isinstance(element, Element)
        rows, cells = self._within(self._rows, at), self._within(self._cells, at)
        if not self.has_heading(at) and "memname" in element.classes:
            return "line"
        if self.has_heading(at) or self._within(self._tables, at) or rows == 1:
            return "parts"
        if cells <= rows:
            return "list"
        return "parts" if self._within(self._code, at) else "data"

    def is_line(self, at: int) -> bool:
        """Return whether nothing in an element needs more than a line."""
        return not (self.has_heading(at) or self._within(self._code, at) or self._within(self._tables, at))

    def is_dropped(self, at: int) -> bool:
        """Return whether an element is no part of what the page says."""
        element = self._nodes[at]
        assert isinstance(element, Element)
        if element.tag in _DROPPED_TAGS:
            return True
        attributes = element.attributes
        if not attributes:
            return False
        classes = element.classes
        return (
            not _DROPPED_CLASSES.isdisjoint(classes)
            or (element.tag in {"a", "span"} and not _SELF_LINKS.isdisjoint(classes))
            or attributes.get("id") in _DROPPED_IDS
            or attributes.get("role") in _DROPPED_ROLES
            or attributes.get("aria-hidden") == "true"
            or ("hidden" in attributes and attributes.get("role") != "tabpanel")
            or any(each.issubset(classes) for each in _LOCAL_CONTENTS)
            or (element.tag == "a" and self._is_self_link(element, at))
            or self._is_navigation(element, at)
        )

    def main_part(self) -> tuple[int, int]:
        """Return where the content of the page is: its main part, its one article, its body, or all."""
        elements = [(at, each) for at, each in enumerate(self._nodes) if isinstance(each, Element)]
        mains = [at for at, each in elements if each.tag == "main" or each.attributes.get("role") == "main"]
        articles = [at for at, each in elements if each.tag == "article"]
        bodies = [at for at, each in elements if each.tag == "body"]
        for at in (*mains, *(articles if len(articles) == 1 else ()), *bodies):
            if self._within(self._text, at):
                return at + 1, elements_end(self._nodes, at)
        return 0, len(self._nodes)

    def page_title(self) -> int | None:
        """Return where the title is that the browser shows."""
        for at, each in enumerate(self._nodes):
            if isinstance(each, Element) and each.tag == "title":
                return at
        return None

    def _is_self_link(self, element: Element, at: int) -> bool:
        """Return whether a link within the page is only a sign, as behind a heading."""
        only = self._nodes[at + 1] if element.end == at + 2 else None
        is_sign = isinstance(only, str) and not any(map(str.isalnum, only))
        return is_sign and element.attributes.get("href", "").startswith("#")

    def _is_navigation(self, element: Element, at: int) -> bool:
        names = f"{element.attributes.get('class', '')} {element.attributes.get('id', '')}"
        if element.tag in {"p", "div"} and self._within(self._ways, at) and not self.has_heading(at):
            return self._within(self._text, at) <= _WAY_CHARACTERS
        is_summary = names.split() == ["summary"] and not self.has_heading(at)  # of a page by Doxygen
        if element.tag != "aside" and not is_summary and not _NAVIGATION.search(names):
            return False
        part, whole = _MOSTLY_LINKS
        text = self._within(self._text, at)
        return text > 0 and self._within(self._links, at) * whole > text * part

    def _within(self, sums: Sequence[int], at: int) -> int:
        return sums[elements_end(self._nodes, at)] - sums[at + 1]


def elements_end(nodes: Sequence[Node], at: int) -> int:
    """Return where the content of the element at `at` ends."""
    element = nodes[at]
    assert isinstance(element, Element)
    return element.end


def is_signature(element: Element) -> bool:
    """Return whether Sphinx or rustdoc describe a function, a class and so on here; its name becomes a heading."""
    if element.tag == "dt":
        return _SPHINX_SIGNATURE in element.classes
    return element.tag in HEADINGS and _RUST_SIGNATURE in element.classes


def is_signature_line(element: Element) -> bool:
    """Return whether javadoc says here how something is declared."""
    return not _SIGNATURE_LINES.isdisjoint(element.classes)


def table_columns(element: Element) -> int:
    """Return the columns of a table that javadoc made of `div`s; 0 for what is none."""
    classes = element.classes
    return next((_COLUMNS[each] for each in classes if each in _COLUMNS), 0) if "summary-table" in classes else 0


def is_table_cell(element: Element) -> bool:
    """Return whether this is a cell of such a table."""
    return any(each.startswith("col-") for each in element.classes)


def is_name(element: Element) -> bool:
    """Return whether this is the name in a signature, or the way to it."""
    return not _NAME_IN_SIGNATURE.isdisjoint(element.classes)


def is_code_block(element: Element) -> bool:
    return element.tag in _PREFORMATTED or is_listing(element)


def is_listing(node: Node) -> bool:
    """Return whether this is code as Doxygen has it, an element a line."""
    return isinstance(node, Element) and node.tag == "div" and "fragment" in node.classes


def language_of(elements: Iterable[Element]) -> str:
    """Return the language of code: the first that an element names."""
    for element in elements:
        named = [element.attributes.get(name, "") for name in ("data-lang", "data-language")]
        named += [match[1] for each in element.classes if (match := _LANGUAGE_CLASS.fullmatch(each))]
        named += [each for each in element.classes if element.tag == "pre" and each in _BARE_LANGUAGES]
        for each in filter(None, named):
            language = each.lower()
            return "" if language in _NO_LANGUAGES else _LANGUAGES.get(language, language)
    return ""


def _sums(numbers: Iterable[int]) -> list[int]:
    return list(accumulate(numbers, initial=0))


def _counts(nodes: Sequence[Node], tags: Collection[str]) -> list[int]:
    return _sums(isinstance(each, Element) and each.tag in tags for each in nodes)


def _heading_levels(nodes: Sequence[Node]) -> Iterable[int]:
    """Yield the level of every node that is a heading, 0 for others; what an admonition is called is none."""
    end, titles, terms = 0, _doxygen_titles(nodes), _addressed_terms(nodes)
    for at, each in enumerate(nodes):
        if isinstance(each, str):
            yield 0
            continue
        if each.attributes and not _ADMONITIONS.isdisjoint(each.classes):
            end = max(end, each.end)
        is_term = at in terms or is_signature(each)
        yield 0 if at < end else 1 if at in titles else _level(each) or (_LOWEST_LEVEL if is_term else 0)


def _doxygen_titles(nodes: Sequence[Node]) -> set[int]:
    """Return where Doxygen writes the titles of pages; elsewhere a `title` may be that of a picture or a note."""
    found, end = set[int](), 0
    for at, each in enumerate(nodes):
        if isinstance(each, Element) and each.tag == "div":
            end = each.end if "headertitle" in each.classes else end
            found.update([at] if at < end and "title" in each.classes else ())
    return found


def _addressed_terms(nodes: Sequence[Node]) -> set[int]:
    """Return where terms are that can be linked to, such as settings and options: each begins a section.

    The first term of a list decides for all. Item, quote and table must not be ended by a heading, so they have none.
    """
    found = set[int]()
    lists: list[tuple[int, bool | None]] = []
    barrier = 0
    for at, each in enumerate(nodes):
        if isinstance(each, str):
            continue
        if each.tag in _AROUND_TERMS:
            barrier = max(barrier, each.end)
        while lists and lists[-1][0] <= at:
            lists.pop()
        if each.tag == "dl":
            lists.append((each.end, False if at < barrier else None))
        elif each.tag == "dt" and lists:
            end, is_addressed = lists[-1]
            lists[-1] = end, _has_address(nodes, at, each) if is_addressed is None else is_addressed
            found.update([at] if lists[-1][1] else ())
    return found


def _has_address(nodes: Sequence[Node], at: int, term: Element) -> bool:
    inside = (each for each in nodes[at + 1 : min(at + 3, term.end)] if not isinstance(each, str) or each.strip())
    first = next(inside, "")
    named = first.attributes if isinstance(first, Element) and first.tag == "a" else {}
    return _FOOTNOTE not in term.classes and ("id" in term.attributes or "id" in named or "name" in named)


def _level(element: Element) -> int:
    if element.tag in HEADINGS:
        return HEADINGS[element.tag]
    attributes = element.attributes
    return HEADINGS.get(f"h{attributes.get('aria-level')}", 0) if attributes.get("role") == "heading" else 0


def _is_way(link: Element) -> bool:
    """Return whether a link says that it leads to the next page and so on."""
    return not _WAYS.isdisjoint(link.attributes.get("rel", "").lower().split())


def _lengths_in_links(nodes: Sequence[Node]) -> Iterable[int]:
    end = 0
    for at, each in enumerate(nodes):
        if isinstance(each, Element):
            end = max(end, each.end if each.tag == "a" else 0)
        yield len(each.strip()) if isinstance(each, str) and at < end else 0
