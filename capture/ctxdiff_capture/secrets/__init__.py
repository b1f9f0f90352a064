"""Credentials in texts: found by their shape, and the tags that stand for them."""
