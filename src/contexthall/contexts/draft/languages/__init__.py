"""Readers of source files and manifests, one module a language."""
