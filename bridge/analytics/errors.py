"""What the user is told when a job can't be done."""


class AnalyticsError(Exception):
    """One sentence with its code: what happened, the value seen, the likely cause, the next step."""
