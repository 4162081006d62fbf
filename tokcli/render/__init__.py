"""What people see: sanitized text, coloured boundaries, tables. Imports nothing itself: rich is for those who ask."""
