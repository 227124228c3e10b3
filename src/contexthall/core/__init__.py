"""Which words do all rooms share? Errors, bytes on the wire, and the catalog of tools. Pure."""
