"""What did the user choose? Settings from flags, environment, files and defaults."""
