"""What do the documents say? Compiled, immutable caches of documents."""
