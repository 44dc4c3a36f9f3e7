"""What two conversations do differently, whatever their protocol."""
