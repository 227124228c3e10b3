"""The files of a context: schema, YAML, configuration; reading, editing and writing them."""
