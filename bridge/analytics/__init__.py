"""Tables, a stream, a report and experiments over event logs, by Spark.

It must not know a running bridge, only the words of the event log; nothing imports it, and the command line finds it
through the entry points. `command`, `specs`, `errors`, the definitions of tables and what reads files of the log must
not know Spark either: the command line starts without it, and processes beside Spark read files.
"""
