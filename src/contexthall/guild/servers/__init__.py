"""The members' servers: processes, connections, and when each runs."""
