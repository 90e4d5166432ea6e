"""The rules of the house as tests; there is no opt-out list. They know the source text only, never what it does."""
