"""Parsing of source code within limits, its comments and its signatures."""
