"""Who answers questions about the tables: Spark, or DuckDB where there is no Java. Both are asked in the same words.

It must not know what is asked.
"""
