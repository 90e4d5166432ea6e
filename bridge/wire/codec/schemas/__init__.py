"""Our own message schemas in Kafka's JSON form, written from KIP-848 and KIP-1082: the ones that kafka-python lacks.

They must not hold what kafka-python ships.
"""
