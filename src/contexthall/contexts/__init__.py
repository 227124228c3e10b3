"""What is this directory for? A `.context.yaml` per directory, and whether it is still true."""
