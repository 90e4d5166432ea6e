"""What several layers of tests share: brokers, builders, playbooks.

It holds no tests itself.
"""
