"""What records: labels, redaction, the thread that writes."""
