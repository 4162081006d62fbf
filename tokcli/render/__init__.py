"""What people see: sanitized text, coloured boundaries, tables."""
