"""The doors of the service, a module for each kind."""
