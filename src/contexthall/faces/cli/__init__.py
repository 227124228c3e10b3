"""How does a person or a script reach the hall? By typing `context`."""
