"""Deaths of bridges and brokers under a mixed fleet, at moments that a seed draws, and what its diaries say."""
