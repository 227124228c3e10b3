"""What a source file says of itself, one module a language."""
