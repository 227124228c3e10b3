"""Compiled, immutable caches of documents, and queries of them."""
