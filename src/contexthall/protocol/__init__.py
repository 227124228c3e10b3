"""The Model Context Protocol itself: messages, a JSON-RPC peer, the roles of server and client, both eras. Pure."""
