"""What it takes to run analytics on a cluster: packaged code, an entry point, the jars of the Kafka source.

It must not know any job.
"""
