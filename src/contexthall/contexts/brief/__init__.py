"""Briefs: what people wrote in contexts and rule files that applies to a path."""
