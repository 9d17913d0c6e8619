"""``python -m policysieve`` is the command ``policysieve``."""

from policysieve.cli import main

if __name__ == "__main__":
    main()
