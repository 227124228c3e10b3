"""Which tools are within reach? A roster of other MCP servers and their cached tool lists."""
