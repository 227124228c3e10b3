"""The term index: which documents have a word, and how often."""
