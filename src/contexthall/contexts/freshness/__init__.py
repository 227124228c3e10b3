"""Whether a context is still true."""
