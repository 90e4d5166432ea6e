"""Consumer groups: who is a member, what each shall have, and how each gets there.

It is pure and must not know the order in which commands of one turn are carried out.
"""
