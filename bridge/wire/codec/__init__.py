"""Bodies of the group APIs: a table-driven, frame-exact reader and writer, and a mapping to dialects per API."""
