"""Whether bad input and bad luck leave anything but an error that says what to do."""
