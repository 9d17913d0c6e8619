"""Whether rounds grow as the theorems say."""
