"""Makes the two fonts of pictures from Inter 4.1.1: `python subset.py FOLDER`, where FOLDER is `web` of the npm package `inter-ui`.

Needs fonttools 4.60 and brotli. Kept are Latin, Greek and the signs that figures use, without hints and without kerning: numbers
stand in columns, and the files stay small.
"""

import sys
from pathlib import Path

from fontTools import subset

SIGNS = (
    "U+20-7E,U+A0-17F,U+218-21B,U+391-3A9,U+3B1-3C9,U+2010-2015,U+2018-201E,U+2020-2022,U+2026,U+2030,U+2032-2033,U+20AC,"
    "U+2122,U+2190-2193,U+2206,U+2211-2212,U+221A,U+221E,U+2248,U+2260,U+2264-2265,U+25B2,U+25BC,U+FFFD"
)

for weight in ["Regular", "SemiBold"]:
    options = subset.Options(hinting=False, layout_features=["tnum"], name_IDs=[0, 1, 2, 4, 6, 13, 14, 16, 17])
    font = subset.load_font(str(Path(sys.argv[1]) / f"Inter-{weight}.woff2"), options)
    chosen = subset.Subsetter(options)
    chosen.populate(unicodes=subset.parse_unicodes(SIGNS))
    chosen.subset(font)
    font.flavor = None
    font.save(Path(__file__).parent / f"Inter-{weight}.ttf")
