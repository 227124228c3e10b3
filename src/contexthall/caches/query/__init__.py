"""How a query is answered: matching, ranking, selection within a budget."""
