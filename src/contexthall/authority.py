"""Who may read which path: callers that are bound to the hall's own roots, and those that are not.

Containment is judged on real paths, after symlinks; whoever opens what was judged opens that very path.
"""

from contexthall.config.settings import Settings
from contexthall.core.store_url import file_path, is_below, is_url
from contexthall.system.disk import Disk


class Authority:
    """The paths that callers may name, by the settings of one hall."""

    def __init__(self, settings: Settings, disk: Disk) -> None:
        self._settings = settings
        self._disk = disk

    def may_read(self, path: str, home: str) -> bool:
        """Return whether a caller over standard input and output may name a path, to a room whose own root is `home`.

        It has the operating system's authority already, unless it is confined; but the machine's credentials for a
        store are not the caller's, so a URL must be allowed in any case.
        """
        return not (self._settings.confine or is_url(path)) or self.is_in_roots(path, home)

    def is_in_roots(self, path: str, home: str) -> bool:
        """Return whether a path is below the room's own root or one that was allowed, as a caller over HTTP must be."""
        allowed = self._settings.allow_roots
        if is_url(path):
            return any(self._is_url_below(path, root) for root in allowed if is_url(root))
        return any(self._is_below(path, root) for root in (home, *allowed) if not is_url(root))

    def is_in_project(self, path: str) -> bool:
        """Return whether a path is in the project: what the hall does by itself stays there."""
        return self._disk.is_within(path, self._settings.project_root)

    def may_hold_caches(self, real: str) -> bool:
        """Return whether callers may be confined to a cache root that is really there.

        A project's may not lead out of it: whoever wrote the project may put a symlink there at any time.
        """
        is_trusted = self._settings.cache_root_is_trusted or not self._settings.confine
        return is_trusted or self._disk.is_within(real, self._settings.project_root)

    def _is_url_below(self, url: str, root: str) -> bool:
        path, allowed = file_path(url), file_path(root)
        if path is not None and allowed is not None:
            return self._disk.is_within(path, allowed)
        return is_below(url, root)

    def _is_below(self, path: str, root: str) -> bool:
        # The root is resolved once, so that what is judged is what counts.
        real = self._disk.real(root)
        return self._disk.is_within(path, real) and (root != self._settings.cache_root or self.may_hold_caches(real))
