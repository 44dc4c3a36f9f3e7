"""Resume (RES): suspended links and their unsettled deliveries."""
