"""Does it find what people ask for? Public question sets, and 160 questions written here over public documentation."""
