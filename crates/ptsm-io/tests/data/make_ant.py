"""Makes ant.cnt and ant-rf64.cnt beside this file: recordings of ANT as its own library packs them.

    python3 -m venv v && v/bin/pip install antio==0.7.1 && v/bin/python make_ant.py
"""

import os
import pathlib

from antio.libeep import pyeep

# The library writes the name of the file into it.
os.chdir(pathlib.Path(__file__).parent)
NAMES = ["C3", "Cz", "EOG", "Oz"]
RATE, SAMPLES = 100, 350


def number(channel, sample):
    """Stored numbers, each 1/128 of a microvolt: a parabola, the same with noise on it, noise, and large steps."""
    noise = (sample * sample * 7919 + sample * 104729) % 1009 - 504
    return [sample * sample // 20, sample * sample // 20 + noise % 7, noise * 3, (sample % 50) * 100003 - noise * 5003][channel]


for name, wide in [("ant.cnt", 0), ("ant-rf64.cnt", 1)]:
    info = pyeep.create_channel_info()
    for label in NAMES:
        pyeep.add_channel(info, label, "CPz", "uV")
    file = pyeep.write_cnt(name, RATE, info, wide)
    values = [number(channel, sample) / 128 for sample in range(SAMPLES) for channel in range(len(NAMES))]
    pyeep.add_samples(file, values, len(NAMES))
    pyeep.close(file)
