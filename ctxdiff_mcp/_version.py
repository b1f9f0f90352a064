"""The version, once per distribution; a test holds the three equal."""

__version__ = "0.1.0"
