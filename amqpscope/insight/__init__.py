"""What Steps mean, without format or widget."""
