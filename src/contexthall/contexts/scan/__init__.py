"""Which directories of a project count."""
