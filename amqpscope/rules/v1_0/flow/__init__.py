"""Flow control (FLW): windows, credit, delivery-counts and stalls."""
