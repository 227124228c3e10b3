"""Source code, comments, signatures and README files, read within limits."""
