"""How a folder of documents becomes a cache."""
