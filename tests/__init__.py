"""The tests of epochbridge, by layer; unit mirrors the source tree.

Being a package lets the layers share tests.support.
"""
