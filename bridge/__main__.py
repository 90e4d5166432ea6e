"""`python -m bridge` is `epochbridge`. It must not know anything but the command line."""

from bridge.cli.main import main

if __name__ == "__main__":
    main()
