"""The job `compare`: a treatment against a control, from samples out of the tables to a verdict.

It must not know how the tables are made.
"""
