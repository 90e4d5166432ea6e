"""What is asked of Kafka and the bridge alike, by theme."""
