"""The job `report`: the tables as one HTML page and as Markdown.

It must not know how the tables are made; it asks them for a few hundred values.
"""
