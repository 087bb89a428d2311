"""`python -m osteon` is `osteon`."""

from osteon.cli.main import main

if __name__ == "__main__":
    main()
