"""The fixtures of this folder. It must not start anything."""

from tests.support.spark import spark, store

__all__ = ["spark", "store"]
