"""A fleet of real Kafka clients around a bridge, and the brokers it runs against.

It must not know the inside of any other room, nor be imported by one: the bridge is a program to it, the group a page
of the admin API. Client libraries and Kafka's own programs are met here only.

`run` puts a run together: `cluster` and `services` start what is behind and in front, `fleet*` the clients in `members`
and `producer`, `story` says what happens, `screen` and `rows` show it, `judge*` looks for what was lost, from the
clients' own `events` only. `kafka_*` fetch and start an Apache Kafka; the tests use them, too.
"""
