"""``python -m diagtool``."""

from diagtool.cli.app import main

if __name__ == "__main__":
    main()
