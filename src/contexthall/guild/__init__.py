"""The guild: a roster of other MCP servers and their cached tool lists."""
