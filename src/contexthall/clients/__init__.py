"""Which agents know the hall? Where each keeps its list of servers, and how the hall gets into it and out again."""
