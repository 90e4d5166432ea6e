"""The command `epochbridge`: arguments in, calls into app, and what the user is told when one fails.

It must not know any room but app and config, and of dialects only how text of strangers is shown; commands of other
rooms are found through entry points.
"""
