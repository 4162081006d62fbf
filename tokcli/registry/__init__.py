"""Which encodings there are, and how each becomes an `Encoding`: shipped, cached, downloaded, or a file."""
