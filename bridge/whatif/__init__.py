"""What a recorded group would have gone through under another configuration: its history played to the pure engine.

It must not know files, Spark, or how a comparison is shown.
"""
