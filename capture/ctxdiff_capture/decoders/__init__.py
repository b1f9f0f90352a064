"""From bytes to blocks: one decoder per provider surface, found by `dispatch`."""
