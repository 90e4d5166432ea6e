"""How log lines may be written, and from which level up: what `serve` is told, and `reload` may say anew."""

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("json", "console")
VARIABLES = "EPOCHBRIDGE_LOG"
"""How the variables of the environment begin that say so: `_LEVEL` and `_FORMAT`."""
