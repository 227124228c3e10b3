"""What must be known before somebody works in a directory: what people wrote in contexts and in rule files."""
