"""From lines to events, once each: files that have ended, records of a topic, columns made of them, what is refused.

It must not know what is made of the events; it writes them to the store and knows no other table.
"""
