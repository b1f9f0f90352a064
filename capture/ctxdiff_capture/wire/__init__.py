"""What goes over the wire to a model and comes back, taken at the HTTP boundary of the SDKs."""
