"""How fast is it, next to what? One script per claim, with its peers in the same run."""
