"""What `context serve` composes: a hall, its MCP server, and a transport."""
