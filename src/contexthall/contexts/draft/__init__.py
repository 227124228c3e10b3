"""What can be said of a directory without asking anybody: first drafts, from the code itself."""
