"""Session (SES): channels, begin and end."""
