"""What events of one run, with no number missing between them, tell of the tables by themselves: made by Arrow where
lines are read, so that Spark moves and sorts only what lies at the ends of such a stretch.
"""
