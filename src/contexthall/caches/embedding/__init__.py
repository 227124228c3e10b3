"""What do texts mean? The seam for embedders, and one embedder of our own."""
