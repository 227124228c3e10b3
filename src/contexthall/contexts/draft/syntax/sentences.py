"""The first sentence of a text, and whether it is informative on its own.

Pure, and linear however hostile the text: only its first 64 KiB are read, by expressions that never backtrack.
"""

import re

from contexthall.contexts.draft.syntax.blocks import blocks, without_comments
from contexthall.contexts.draft.syntax.markup import plain, shorten
from contexthall.core import limits
from contexthall.core.parsing import LEFT_OUT, words
from contexthall.core.secrets import may_be_key
from contexthall.core.text import known

_ABBREVIATIONS = words(
    "e.g i.e eg ie vs etc mr mrs ms dr prof cf al approx inc ltd corp co jr sr fig resp incl esp viz ca a.k.a aka "
    "w.r.t wrt ed eds vol pp"
)

_STOP = re.compile(r"`[^`]*+`|(?P<stop>[.!?]++)[\"')\]”’»]*+(?=\s|$)|(?P<wide_stop>[。！？]++)")


def _sentence(line: str) -> str:
    for stop in _STOP.finditer(line):
        if stop["wide_stop"] or (stop["stop"] and _ends(line, stop)):
            return line[: stop.end()]
    return line


def _ends(line: str, stop: re.Match[str]) -> bool:
    after = line[stop.end() + 1 : stop.end() + 2]
    if not after:
        return True
    if after.islower() or after.isdigit():
        return False
    word = line[max(0, stop.start() - 40) : stop.start()].rpartition(" ")[2].lstrip("([{\"'“‘")
    letter = word.rpartition(".")[2]
    is_initial = len(letter) == 1 and letter.isupper()
    is_number_of_a_list = word.isdigit() and stop.start() == len(word)
    return stop["stop"] != "." or not (word.lower() in _ABBREVIATIONS or is_initial or is_number_of_a_list)


def first_sentence(text: str, most: int = 200) -> str:
    """Return the first sentence of `text` as one line of at most `most` characters; empty if it has none.

    A paragraph is preferred to a title. Nested markup comes off layer by layer, so the function is idempotent.
    """
    text = known(text[: limits.PROSE_CHARACTERS])
    while (sentence := _first_sentence(text, most)) != text:
        text = sentence
    return sentence


def _first_sentence(text: str, most: int) -> str:
    lines = _DOC_TAG.sub("", _without_margin(without_comments(text))).splitlines()
    titles = []
    for block in blocks(lines, markdown=False):
        if block.level:
            titles.append(block.text)
        elif sentence := shorten(_sentence(plain(block.text)), most):
            return sentence
    return next((sentence for title in titles if (sentence := shorten(_sentence(plain(title)), most))), "")


def _without_margin(text: str) -> str:
    """Remove the common indent of all lines but the first; `inspect.cleandoc` differs between versions of Python."""
    first, *others = text.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    return "\n".join([first.lstrip(), *(line[margin:] for line in others)]).strip("\n")


_DOC_TAG = re.compile(r"^[@\\](?:file|fileoverview|overview|brief|description|desc|summary)[ \t]", re.MULTILINE)
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_]\S*+")

_OUT_OF_CONTEXT = re.compile(
    r"(?:it|they|he|she|however|but|so|and|or|also|then|therefore|thus|otherwise|instead|additionally|furthermore"
    r"|moreover|likewise|similarly|finally|first|second|next|here|there|that|those|these (?:are|were)|in addition"
    r"|for [^.,]{1,80}+, see|by default"
    r"|for example|e\.g|i\.e|such|as (?:above|such|you|described|mentioned|noted|of)|same as|like (?:this|the above)"
    r"|yes|no|hi|hello|welcome|we|i|my|you|your|our|if|when|once|after|before|because|since|don'?t|do not|make sure|run"
    r"|use (?:this|the|it)|for use|using|execute|open|readme|the \w+ file"
    r"|to (?:run|build|use|start|install|get|generate|test|update|regenerate|compile|view)"
    r"|returns?|throws?|sets?|gets?|see|refer|note|todo|fixme|xxx|hack|deprecated|copyright|licensed|@|#|\$|>|<|\||\W*$)\b",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(
    r"\b(?:such as|including|includes?|like|as follows|following|follows|is|are|by|to|for|with|of|and|or|the|an?|in|on"
    r"|at|from|via|namely|for (?:instance|example))[\s,:;…-]*$|\b(?:e\.g|i\.e)\W*$",
    re.IGNORECASE,
)


_FEWEST_WORDS = 2
_KINDS = "package|module|crate|namespace|class|file|library|init file"
_BOILERPLATE = re.compile(
    r"\(c\)|©|@ts-|#!|[\W_]*+(?:copyright\b|spdx-|all rights reserved|licen[cs]ed? (?:under|to|for|:|agreement)"
    r"|distributed under|(?:the )?(?:mit|apache|bsd|isc|gnu)\b.{0,40}\blicen[cs]e\b|permission (?:is hereby|to use)"
    r"|redistribution and use"
    r"|(?:use of )?this (?:file|program|software|source|code|library|project|module|work)(?: code)? (?:is|may|has|was) "
    r"(?:free software|(?:a )?part of|licen[cs]ed|released under|distributed|made available|subject to|governed|covered"
    r"|published under|auto|machine|generated|bootstrapped|scaffolded|initiali[sz]ed|created (?:with|by|using))"
    r"|see (?:the )?(?:licen[cs]e|copying|copyright|authors)|for license information|unless required by"
    r"|auto(?:matically)?[ -]?(?:generated|created)|(?:code |file )?generated (?:by|with|from|using)"
    r"|do not (?:edit|modify)|(?:todo|fixme|xxx|hack)\b"
    r"|(?:vim|pylint|flake8|mypy|ruff|noqa|isort|eslint|tslint|jshint|prettier|istanbul|emacs)\b ?[-:]"
    r"|type: ?ignore|use strict|coding[:=]|usr/bin|bin/|created (?:on|by|at)\b|author\b ?:|date ?:"
    r"|(?:please )?(?:add|insert|write|put|enter) (?:your|a|the|some)? ?(?:\w+ )?(?:description|summary|docstring)"
    r"|(?:your|my|a|the|short|project|package|module|some|brief|no) (?:\w+ )?(?:description|summary)\b(?: here)?\W*$"
    r"|description of\W*$|lorem ipsum|this template should help|top[- ]level package"
    r"|main (?:module|package|file|script)\W*$|(?:package|module) init"
    r"|init(?:iali[sz]e[sd]?|iali[sz]ation)? (?:file|module|package|the (?:package|module))\b"
    r"|__init__|module dependencies|table of contents|apply \S+ by default|compdef\b)"
    r"|[=~*#-]{2}",
    re.IGNORECASE,
)
_BANNER = re.compile(r"(?:\S++ ){1,4}[<(\[]?https?://\S++\.?")
"""A project's name and address, above each of its files."""
_ONLY_NAMED = re.compile(
    rf"(?:the |this )?+(?:(?:{_KINDS})(?: (?:for|of|called|named))?+ \S++|\S++ (?:{_KINDS}))[^\w]*+$", re.IGNORECASE
)


def usable_sentence(text: str, *, is_named: bool = False) -> str:
    """Return the first sentence of `text`; empty if it is cut, out of context, boilerplate or a secret.

    A sentence that will follow the name of its subject (`is_named`) may begin with a verb, such as "Returns".
    """
    sentence = first_sentence(text, limits.SUMMARY_CHARACTERS)
    is_cut = sentence.endswith((LEFT_OUT, "...", ":", ",", ";"))
    is_complete = is_named and _DOES.match(sentence) and not _UNFINISHED.search(sentence)
    is_dangling = is_out_of_context(sentence) and not is_complete
    return "" if is_cut or is_dangling or is_boilerplate(sentence) or may_be_key(sentence) else sentence


_DOES = re.compile(r"(?:returns?|throws?|sets?|gets?|runs?|executes?|opens?|uses?) ", re.IGNORECASE)


def is_out_of_context(sentence: str) -> bool:
    """Return whether a sentence depends on what is before or after it, or addresses the reader."""
    return bool(_OUT_OF_CONTEXT.match(sentence) or _UNFINISHED.search(sentence))


def is_boilerplate(sentence: str) -> bool:
    """Return whether `sentence` says nothing about its subject: too short, a banner, a licence or the like."""
    text = known(sentence[: limits.PROSE_CHARACTERS])
    if len(WORD.findall(text)) < _FEWEST_WORDS or _BANNER.fullmatch(text):
        return True
    return bool(_BOILERPLATE.match(text) or _ONLY_NAMED.match(text))
