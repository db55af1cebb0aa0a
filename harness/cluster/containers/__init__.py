"""Docker: engine, images, networks, volumes and helper containers. Knows nothing of Kafka clusters."""
