"""`python -m tokcli`."""

from tokcli.cli.main import main

if __name__ == "__main__":
    main()
