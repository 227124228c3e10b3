"""Which directories do tools make, so that nobody wrote what is in them? Pure."""

VIRTUAL_ENVIRONMENT = "pyvenv.cfg"
"""A directory with a file of this name is a Python environment, whatever it is called."""

_NAMES = frozenset(
    {
        *("node_modules", "bower_components", "jspm_packages", "dist", "build", "target", "vendor", "__pycache__"),
        *("__pypackages__", "venv", "virtualenv", "site-packages", "coverage", "htmlcov", "Pods", "DerivedData"),
        *("elm-stuff", "storybook-static", "_build", "_sources"),
    }
)
_SUFFIXES = (".egg-info", ".dist-info")


def is_generated(name: str) -> bool:
    """Return whether directories of this name are usually made by a tool."""
    return name in _NAMES or name.endswith(_SUFFIXES)
