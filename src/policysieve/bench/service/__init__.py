"""How much the HTTP service takes, next to a bare FastAPI app on the same disk."""
