"""The hall's page, its API, and the HTTP server."""
