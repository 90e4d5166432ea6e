"""Playing scenarios over TCP against a broker or the bridge, and comparing what was answered."""
