"""diagtool with what its installation brings: pandas also loads pyarrow where it finds it, and the tests need it."""

import sys

sys.modules["pyarrow"] = None  # type: ignore[assignment]

from diagtool.cli.app import main  # noqa: E402

if __name__ == "__main__":
    main()
