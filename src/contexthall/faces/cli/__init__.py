"""The command line, `context`."""
