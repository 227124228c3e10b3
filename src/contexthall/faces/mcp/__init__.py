"""How does an agent reach the hall? Over the Model Context Protocol."""
