"""Queue (A09-QUE): declaring, binding and deleting queues."""
