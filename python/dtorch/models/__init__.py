"""Models written once for every mesh."""
