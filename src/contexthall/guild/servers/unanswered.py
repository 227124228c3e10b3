"""What stands in the place of an answer that cannot be had, so that its caller does not wait for it? Pure."""

import re

import msgspec

from contexthall.core import limits
from contexthall.core.catalog import JsonObject
from contexthall.core.errors import MemberError
from contexthall.protocol.messages import INTERNAL_ERROR, Response

NOT_READ = "the server's answer was not read: "
TOO_LARGE = f"it is larger than {limits.MEMBER_MESSAGE_BYTES} bytes"

_IS_REQUEST = re.compile(rb'\s*\{\s*(?:"(?:jsonrpc|id)"\s*:[^,{]*,\s*)*"method"')
# Where an answer has its own number, and not one of something in it.
_FIRST_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]{1,15})\s*[,}]')
_LAST_ID = re.compile(rb',\s*"id"\s*:\s*([0-9]{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


class Unanswered(Response, frozen=True, kw_only=True):
    """What stands in the place of an answer."""

    failure: MemberError
    is_cut_off: bool = False
    """Whether it ended before it was complete; perhaps the server did, too."""
    error: JsonObject | None = msgspec.field(default_factory=lambda: {"code": INTERNAL_ERROR, "message": "no answer"})


def in_place_of(line: bytes, reason: object) -> Unanswered | None:
    """Stand for an answer that is not read, of which the two ends are enough; None if the line answers nothing."""
    start, end = line[: limits.RUBBISH_QUOTE_BYTES], line[-limits.RUBBISH_QUOTE_BYTES :]
    found = None if _IS_REQUEST.match(start) else _FIRST_ID.match(start) or _LAST_ID.search(end)
    return None if found is None else Unanswered(int(found[1]), failure=MemberError(f"{NOT_READ}{reason}"))
