"""The checks of `context doctor`."""
