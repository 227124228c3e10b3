"""Who the members are: manifests, discovery, fingerprints."""
