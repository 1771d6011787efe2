"""Makes recordings of every format and tells what independent readers find in them.

    python make.py FOLDER FORMAT ...
"""

import importlib
import pathlib
import sys
import warnings
import zlib

import numpy as np

warnings.simplefilter("ignore")

for name in sys.argv[2:]:
    folder = pathlib.Path(sys.argv[1]) / name
    folder.mkdir(parents=True, exist_ok=True)
    importlib.import_module(f"{name}_files").make(folder, np.random.default_rng(zlib.crc32(name.encode())))
