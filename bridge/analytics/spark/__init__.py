"""What all jobs need of Spark: the session, the types of our columns, how far a job is, and what ends one.

It must not know any job or any table's content.
"""
