"""The server-side assignors: who gets which partitions, and what stays where it is.

They know subscriptions and partition counts, and must not know epochs, sessions or which protocol a member speaks.
"""
