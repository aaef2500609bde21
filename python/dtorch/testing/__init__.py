"""What tests stand on: op samples, the rule oracle, reference models."""
