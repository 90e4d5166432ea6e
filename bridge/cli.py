"""Arguments in, calls into app and registered commands out.

It must not know any room but app and config.
"""
