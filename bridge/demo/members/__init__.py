"""Real consumer clients, each a runnable module that prints one JSON line per event. It holds no logic of its own."""
