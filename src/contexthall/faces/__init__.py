"""The ways to reach the hall: MCP, the page, the command line. Each face is a loop over the catalog."""
