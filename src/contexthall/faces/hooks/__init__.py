"""What do hooks of agents ask the hall? `context hook` runs at every tool call, so it loads as little as it can."""
