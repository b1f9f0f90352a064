"""Whether a text breaks off before its own end, or is a cut form of another."""
