"""Tables, a stream, a report and experiments over event logs, by Spark.

Nothing else in the project may import this room; the command line finds it through the entry points.
"""
