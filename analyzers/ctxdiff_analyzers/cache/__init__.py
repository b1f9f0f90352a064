"""What a provider's prompt cache makes of a run: rules, markers, the verdict of each turn."""
