"""Publisher confirms (A09-CNF), RabbitMQ's extension."""
