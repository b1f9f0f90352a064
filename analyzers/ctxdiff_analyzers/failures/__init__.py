"""Whether a tool's result reports a failure."""
