"""EDF and BDF by edfio, pyedflib and MNE, read by MNE.

What MNE does otherwise, and is not followed in: EDF+D is one stretch to it, signals of a lower rate are resampled, signals of the same
name are renamed, nanovolts are taken for volts.
"""

import datetime

import edfio
import mne
import numpy as np
import pyedflib

from telling import annotations, from_mne, near, noise, recording, signal

ODD = ["EEG Fp1-Ref", "C3..", "T8/M1", "a,b;c", "#1", "x" * 16, "Cz (1)", "1"]
MICROVOLTS = {"uV": 1.0, "mV": 1e3, "V": 1e6, "nV": 1e-3}
MNE_UNITS = {"uV": 1e-6, "mV": 1e-3}
TEXTS = ["T0", "T1", "left hand, 1", "Größe \u03bcV", "\u8133\u6ce2", "a=b;c", "x" * 40, "with blanks  inside"]


def some_marks(random, seconds, count):
    """Events at milliseconds, some without a duration."""
    onset = np.sort(random.choice(int(seconds * 1000), count, replace=False)) / 1000
    duration = np.where(random.random(count) < 0.3, 0.0, random.integers(1, 3000, count) / 1000)
    return [(o, d, TEXTS[i % len(TEXTS)]) for i, (o, d) in enumerate(zip(onset, duration))]


def edfio_marks(marks):
    return [edfio.EdfAnnotation(o, d if d else None, t) for o, d, t in marks]


def by_edfio(folder, random):
    marks = some_marks(random, 12, 30)
    for kind, write, depth in [("edf", edfio.Edf, edfio.EdfSignal), ("bdf", edfio.Bdf, edfio.BdfSignal)]:
        read = mne.io.read_raw_edf if kind == "edf" else mne.io.read_raw_bdf
        bits = 16 if kind == "edf" else 24

        def make(name, title, x, rate, names, units=None, record_s=None, marks=None, start=None):
            units = units or ["uV"] * len(names)
            signals = [depth(v, rate, label=n, physical_dimension=u) for v, n, u in zip(x, names, units)]
            given = None if marks is None else edfio_marks(marks)
            file = write(signals, data_record_duration=record_s, annotations=given, starttime=start)
            path = folder / f"{name}.{kind}"
            file.write(path)
            raw = read(path, preload=True)
            quantum = np.ptp(x, axis=1) / (2**bits - 1) * 1.01 + 1e-7
            # MNE knows microvolts and millivolts; other numbers it leaves as they are, nanovolts too.
            stored = raw.get_data() / np.array([[MNE_UNITS.get(unit, 1.0)] for unit in units])
            near(title, stored, x, quantum)
            assert raw.ch_names == names, raw.ch_names
            signals = [
                signal(n, raw.info["sfreq"], v * MICROVOLTS.get(u, 1.0), u in MICROVOLTS) for n, v, u in zip(names, stored, units)
            ]
            recording(f"{kind.upper()} by edfio: {title}", path, signals, annotations(path))

        eight = noise(random, 8, 12 * 160)
        make("plain", "no annotations", eight, 160, [f"E{i}" for i in range(8)])
        make("odd", "odd names, many annotations", eight, 160, ODD, marks=marks)
        units = ["uV", "mV", "V", "nV", "%", "degC", "", "Ohm"]
        names = ["EEG Cz", "EEG Pz", "EEG Oz", "EEG Fz", "SaO2", "Temp rectal", "Noname", "Imp C3"]
        make("units", "units", eight, 160, names, units)
        make("half", "records of half a second", noise(random, 3, 12 * 250), 250, ["C3", "Cz", "C4"], record_s=0.5, marks=marks)
        make("long", "records of 4 s", noise(random, 3, 12 * 100), 100, ["C3", "Cz", "C4"], record_s=4, marks=marks)
        make("fraction", "a rate of 102.4 Hz", noise(random, 3, 10 * 256), 102.4, ["C3", "Cz", "C4"], record_s=2.5, marks=marks)
        start = datetime.time(12, 34, 56, 250000)
        make("late", "a start between two seconds", eight[:2], 160, ["C3", "C4"], marks=marks, start=start)


def by_mne(folder, random):
    for kind, read in [("edf", mne.io.read_raw_edf), ("bdf", mne.io.read_raw_bdf)]:
        for rate, seconds in [(128.0, 10), (62.5, 12), (31.25, 24)]:
            # Records are of whole samples; of those of a second, MNE makes the last one whole by repeating the last sample.
            n = int(rate) * seconds - (37 if rate == 128 else 0)
            x = noise(random, 6, n)
            types = ["eeg"] * 4 + ["eog", "misc"]
            info = mne.create_info(["Fp1", "C3", "Cz", "O2", "EOG left", "misc 1"], rate, types)
            raw = mne.io.RawArray(x * np.array([[1e-6]] * 5 + [[1.0]]), info, verbose=False)
            marks = some_marks(random, seconds - 1, 9)
            about = [("C3",) if i % 4 == 1 else ("C3", "Cz") if i % 4 == 3 else () for i in range(len(marks))]
            raw.set_annotations(mne.Annotations(*zip(*marks), ch_names=about))
            path = folder / f"mne{rate:g}.{kind}"
            mne.export.export_raw(path, raw, overwrite=True, physical_range="channelwise", add_ch_type=False)
            again = read(path, preload=True)
            near(path, again.get_data()[:5, :n] * 1e6, x[:5], np.ptp(x[:5], axis=1) / 2**15)
            # Those about a channel end in its name, which is no part of the text.
            marks = [(o, d, t.split("@@")[0]) for o, d, t in annotations(path)]
            from_mne(f"{kind.upper()} by MNE: {rate} Hz", path, again, other=["misc 1"], marks=marks)


def by_pyedflib(folder, random):
    kinds = [
        ("edf", pyedflib.FILETYPE_EDF, 2**15),
        ("plus.edf", pyedflib.FILETYPE_EDFPLUS, 2**15),
        ("bdf", pyedflib.FILETYPE_BDF, 2**23),
        ("plus.bdf", pyedflib.FILETYPE_BDFPLUS, 2**23),
    ]
    for ending, kind, half in kinds:
        # Rates of their own, which MNE would resample: pyedflib itself says what is in the file.
        rates = [200, 200, 200, 50, 1]
        names = ["C3", "Cz", "EEG C4", "Resp chest", "Temp"]
        units = ["uV", "uV", "mV", "uV", "degC"]
        x = [noise(random, 1, rate * 10)[0] for rate in rates]
        halves = [half, half // 16, half, half, half // 2]
        path = folder / f"pyedflib.{ending}"
        writer = pyedflib.EdfWriter(str(path), 5, file_type=kind)
        if "plus" in ending:
            writer.set_number_of_annotation_signals(3)
        writer.setSignalHeaders([
            {
                "label": name, "dimension": unit, "sample_frequency": rate, "physical_min": -1000.0, "physical_max": 1000.0,
                "digital_min": -least, "digital_max": least - 1, "transducer": "", "prefilter": "HP:0.1Hz",
            }
            for name, unit, rate, least in zip(names, units, rates, halves)
        ])
        writer.writeSamples(x)
        marks = some_marks(random, 10, 25) if "plus" in ending else []
        for onset, duration, text in marks:
            writer.writeAnnotation(onset, duration if duration else -1, text)
        writer.close()
        with pyedflib.EdfReader(str(path)) as reader:
            found = zip(*reader.readAnnotations())
            marks = [(o, max(d, 0.0), str(t)) for o, d, t in found]
            signals = []
            for i, (name, unit, wrote, least) in enumerate(zip(names, units, x, halves)):
                assert reader.getLabel(i) == name
                read = reader.readSignal(i)
                near(path, read[None], wrote[None], 2000 / (2 * least - 1))
                microvolts = read * MICROVOLTS.get(unit, 1.0)
                signals.append(signal(name, reader.getSampleFrequency(i), microvolts, unit in MICROVOLTS))
        recording(f"{path.suffix[1:].upper()} by pyedflib: signals of several rates", path, signals, marks)


def by_hand(folder, random):
    """Variants nobody writes any more, made of files that were read before."""
    rate, records = 100, 12
    x = noise(random, 3, rate * records)
    marks = [(0.25, 0.5, "first"), (3.9, 0.0, "near a gap"), (25.0, 1.0, "after the gaps")]
    signals = [edfio.EdfSignal(v, rate, label=n, physical_dimension="uV") for v, n in zip(x, ["C3", "Cz", "C4"])]
    edf = edfio.Edf(signals, data_record_duration=1, annotations=edfio_marks(marks))
    whole = edf.to_bytes()
    header = 256 * 5
    size = (len(whole) - header) // records
    notes = size - 3 * 2 * rate

    # Records that begin late: after the fourth a gap of 10 s, after the eighth one of 0.5 s, and all 0.25 s after the header's start.
    starts = [0.25 + r + (10.0 if r >= 4 else 0.0) + (0.5 if r >= 8 else 0.0) for r in range(records)]
    parts = []
    for r, start in enumerate(starts):
        record = bytearray(whole[header + r * size :][:size])
        told = f"+{start:g}\x14\x14\0".encode()
        if r == 0:
            for onset, duration, text in [(o + 0.25, d, t) for o, d, t in marks] + [(6.25, 0.0, "in the gap")]:
                told += f"+{onset:g}".encode() + (f"\x15{duration:g}".encode() if duration else b"") + f"\x14{text}\x14\0".encode()
        room = max(notes, 200)
        parts.append(bytes(record[: 3 * 2 * rate]) + told.ljust(room, b"\0"))
    head = bytearray(whole[:header])
    head[192:197] = b"EDF+D"
    # Samples per record of the annotations, the last field but one of the last of four signals.
    at = 256 + 4 * (16 + 80 + 8 + 8 + 8 + 8 + 8 + 80) + 3 * 8
    head[at : at + 8] = str(room // 2).ljust(8).encode()
    path = folder / "gaps.edf"
    path.write_bytes(bytes(head) + b"".join(parts))
    raw = mne.io.read_raw_edf(path, preload=True)
    stretches = [(0.0, 0, 400), (14.0, 400, 400), (18.5, 800, 400)]
    given = marks + [(6.0, 0.0, "in the gap")]
    from_mne("EDF+D by hand: two gaps, one stretch to MNE", path, raw, marks=given, stretches=stretches)

    plain = edfio.Edf(signals, data_record_duration=1).to_bytes()
    unknown = bytearray(plain)
    unknown[236:244] = b"-1      "
    path = folder / "unknown.edf"
    path.write_bytes(unknown)
    from_mne("EDF by hand: no number of records", path, mne.io.read_raw_edf(path, preload=True))

    latin = bytearray(plain.replace(b"uV", b"\xb5V"))
    latin[256 : 256 + 16] = "F\u00fcnf".encode("latin-1").ljust(16)
    path = folder / "latin.edf"
    path.write_bytes(latin)
    raw = mne.io.read_raw_edf(path, preload=True, encoding="latin1")
    from_mne("EDF by hand: Latin-1", path, raw)

    # Signals upside down: the range falls.
    falling = bytearray(plain)
    low = 256 + 3 * (16 + 80 + 8)
    falling[low : low + 24], falling[low + 24 : low + 48] = plain[low + 24 : low + 48], plain[low : low + 24]
    path = folder / "falling.edf"
    path.write_bytes(falling)
    raw = mne.io.read_raw_edf(path, preload=True)
    sums = [s.physical_min + s.physical_max for s in signals]
    near(path, raw.get_data() * 1e6, np.array(sums)[:, None] - x, np.ptp(x, axis=1) / 2**15)
    from_mne("EDF by hand: ranges that fall", path, raw)

    twins = bytearray(plain)
    twins[256 + 16 : 256 + 32] = b"C3".ljust(16)
    path = folder / "twins.edf"
    path.write_bytes(twins)
    from_mne("EDF by hand: two of one name", path, mne.io.read_raw_edf(path, preload=True), names=["C3", "C3", "C4"])


def status(folder, random):
    """A BioSemi file: triggers in the low bits of a signal, the amplifier's state above."""
    rate, seconds = 256, 8
    n = rate * seconds
    x = noise(random, 2, n, 100.0)
    low = np.zeros(n, int)
    for onset in range(100, n - 60, 150):
        low[onset : onset + int(random.integers(1, 40))] = int(random.integers(1, 2**16))
    low[700:720], low[720:740] = 3, 7  # one trigger rises out of another
    state = low | 1 << 20 | (np.arange(n) % 2 << 22)
    signals = [edfio.BdfSignal(v, rate, label=name, physical_dimension="uV") for v, name in zip(x, ["A1", "A2"])]
    signals.append(
        edfio.BdfSignal(
            state.astype(float), rate, label="Status", physical_dimension="Boolean",
            physical_range=(-8388608, 8388607), digital_range=(-8388608, 8388607),
        )
    )
    path = folder / "status.bdf"
    edfio.Bdf(signals, data_record_duration=1).write(path)
    raw = mne.io.read_raw_bdf(path, preload=True)
    events = mne.find_events(
        raw, "Status", shortest_event=1, consecutive="increasing", mask=2**16 - 1, mask_type="and", initial_event=False
    )
    marks = [(sample / rate, 0.0, str(code)) for sample, _, code in events]
    # MNE leaves out the amplifier's state; the file has it.
    signals = [signal(name, rate, v * 1e6) for name, v in zip(raw.ch_names[:2], raw.get_data()[:2])]
    recording("BDF by edfio: triggers", path, signals + [signal("Status", rate, state, False)], marks)


def make(folder, random):
    by_edfio(folder, random)
    by_mne(folder, random)
    by_pyedflib(folder, random)
    by_hand(folder, random)
    status(folder, random)
