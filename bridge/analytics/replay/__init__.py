"""The job `replay`: each recorded group played under another configuration by `bridge.whatif`, one group per task.

It must not know how a play decides anything.
"""
