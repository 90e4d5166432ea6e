"""Client libraries' own test suites, run direct and through the bridge by hand; it knows no library's inside."""
