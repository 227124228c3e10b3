"""To which section of a converted page does each of its anchors lead?

A word that no page has is put before every anchor, the page is converted and split as a cache does it, and the word is
looked for in its sections. So the answer holds for what is indexed, whatever the converter makes of the page.
"""

import re
from collections.abc import Iterable

from contexthall.caches.build.convert.registry import HTML
from contexthall.caches.model.sections import split

_ADDRESSED = re.compile(r"""<[a-zA-Z][^<>]*?\s(?:id|name)\s*=\s*["']([^"'<>]+)["'][^<>]*>""")
_MARK = re.compile(r"zq(\d+)qz")
_NOTHING_SAID = re.compile(r"(?:zq\d+qz|[\s>*+-]|\d+\.)*")


def headings_of(html: str, wanted: Iterable[str]) -> dict[str, str]:
    """Return the heading of the section that each wanted anchor leads to; "" if it stands before the first one."""
    anchors = list(dict.fromkeys(wanted))
    numbers = {anchor: number for number, anchor in enumerate(anchors)}

    def marked(tag: re.Match[str]) -> str:
        return f" zq{numbers[tag[1]]}qz {tag[0]}" if tag[1] in numbers else tag[0]

    page = split(HTML.convert(_ADDRESSED.sub(marked, html).encode()).text, "page.html")
    names = [_MARK.sub("", section.heading).strip() for section in page.sections]
    found: dict[str, str] = {}
    for section, name, following in zip(page.sections, names, [*names[1:], ""], strict=True):
        text = page.content(section)
        for mark in _MARK.finditer(text):
            # What stands directly before a heading opens the section of that heading.
            opens_next = following and _NOTHING_SAID.fullmatch(text, mark.end())
            found.setdefault(anchors[int(mark[1])], following if opens_next else name)
    return found
