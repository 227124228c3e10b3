"""What a cache is: documents, the format on disk, its version, and whether it holds."""
