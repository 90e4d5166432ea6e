"""A fleet of real Kafka clients around a bridge, and the brokers it runs against.

It must not know the inside of any other room, nor be imported by one.
"""
