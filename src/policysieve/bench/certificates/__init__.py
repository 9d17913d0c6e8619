"""Whether certificates are true, and how soon they come."""
