"""`python -m bridge` is `epochbridge`."""

from bridge.cli.main import main

if __name__ == "__main__":
    main()
