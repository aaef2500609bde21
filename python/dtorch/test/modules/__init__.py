"""Models that tests share."""
