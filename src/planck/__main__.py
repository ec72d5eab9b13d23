import sys

from planck.cli.main import main

sys.exit(main())
