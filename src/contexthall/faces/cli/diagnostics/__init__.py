"""How is a hall, and what it runs on?"""
