"""A fuzzer: strangers with frames that are nearly right, a broker with answers that are not, and a canary."""
