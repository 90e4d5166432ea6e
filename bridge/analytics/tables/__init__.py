"""The tables: their definitions, how each is derived from the events, and the store that holds them.

It must not know how events came in, nor who reads the tables. A module for each derived table.
"""
