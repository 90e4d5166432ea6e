"""Live groups of every client library go to every road and back, in peace and while bridge and broker die."""
