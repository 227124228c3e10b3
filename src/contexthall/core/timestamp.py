"""The time that is written into what is built, as RFC 3339 in UTC. Pure: environment and clock are arguments."""

import time
from collections.abc import Callable, Mapping

from contexthall.core.errors import SettingsError

_FIRST_YEAR, _LAST_YEAR = 1000, 9999
_UNSET_IT = "unset it to have the time of the clock"


def created_at(environment: Mapping[str, str], clock: Callable[[], float]) -> str:
    """Return the time that SOURCE_DATE_EPOCH names, else that of the clock."""
    epoch = environment.get("SOURCE_DATE_EPOCH", "")
    try:
        moment = time.gmtime(int(epoch) if epoch else clock())
    except (ValueError, OverflowError, OSError):
        raise SettingsError(f"SOURCE_DATE_EPOCH must be a number of seconds, not {epoch!r}", hint=_UNSET_IT) from None
    if not _FIRST_YEAR <= moment.tm_year <= _LAST_YEAR:
        raise SettingsError(f"SOURCE_DATE_EPOCH must be in a year of four digits, not {moment.tm_year}", hint=_UNSET_IT)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)
