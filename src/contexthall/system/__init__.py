"""Everything the operating system does: files, processes, system calls, this user's machine."""
