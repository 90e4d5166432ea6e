"""A mutation score of the rooms that decide, by the suites that judge them."""
