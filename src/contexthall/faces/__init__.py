"""How is the hall reached? Each face is a loop over the catalog."""
