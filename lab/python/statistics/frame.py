"""What MOABB's own analysis makes of a benchmark's `moabb.csv`: every pair of pipelines on every data set, as one line of JSON.

    python frame.py FILE TRIALS

Scores are shares of so many trials. MOABB gets the numbers of trials, as its sums of shares take rounding for differences.
"""

import json
import sys

import pandas as pd
from peers import _out, moabb

frame = pd.read_csv(sys.argv[1])
numbers = frame["score"] * int(sys.argv[2])
assert (numbers - numbers.round()).abs().max() < 1e-6, "scores are no shares of so many trials"
found = moabb.compute_dataset_statistics(frame.assign(score=numbers.round()))
columns = ["dataset", "pipe1", "pipe2", "nsub", "p", "smd"]
_out.write(json.dumps(found[columns].to_dict("records")).encode())
_out.flush()
