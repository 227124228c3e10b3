"""First drafts of contexts, from what code, comments, READMEs and manifests state."""
