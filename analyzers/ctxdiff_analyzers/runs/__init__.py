"""A good run against a bad one."""
