"""Message format (MSG): sections, their fields and what they hold."""
