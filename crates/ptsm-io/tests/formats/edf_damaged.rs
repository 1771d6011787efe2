//! Damaged and lying EDF and BDF files are errors: no panic, no memory for samples that are not there.

use ptsm_io::{Bytes, edf};

use crate::edf_made::{File, counts, texts};
use crate::shared::damaged::Reader;
use crate::shared::nowhere;

const EDF: Reader = Reader { folder: "edf/", parse: edf::parse };

#[test]
fn cut_short_anywhere() {
    for (bytes, good) in EDF.cut_short() {
        // Whole records are kept, headers are not guessed.
        assert!(!good.is_empty() && good.len() < bytes.len() - 512, "{}", good.len());
    }
}

#[test]
fn harmed_anywhere() {
    EDF.harmed();
}

#[test]
fn claims_are_not_believed() {
    let file =
        File::edf("EDF+C", vec![counts("C3", &[&[1, 2]]), texts("EDF Annotations", 8, &[b"+0\x14\x14"])]);
    let whole = file.bytes();
    let samples = 256 + 2 * 216;
    for (at, text, says) in [
        (0, "1       ", "byte 0: this is neither EDF nor BDF"),
        (252, "9999", "byte 256: 2559744 bytes are expected here"),
        (252, "0   ", "byte 252: the file has no signals"),
        (252, "-1  ", "byte 252: -1 is no number of signals"),
        (252, "2.5 ", "byte 252: 2.5 is no number of signals"),
        (252, "two ", "byte 252: \"two\" is no number of signals"),
        (244, "0       ", "byte 244: records of 0 s cannot hold samples"),
        (244, "-1      ", "byte 244: records of -1 s cannot hold samples"),
        (244, "inf     ", "byte 244: \"inf\" is no duration of a record"),
        (samples, "99999999", "byte 768: a record has 200000006 bytes, 12 are there"),
        (samples, "1e300   ", "byte 688: "),
        (samples, "-2      ", "byte 688: -2 is no number of samples per record"),
        (samples, "7       ", "byte 768: a record has 22 bytes, 12 are there"),
        (256 + 2 * 104, "x       ", "byte 464: \"x\" is no physical minimum"),
        (256 + 2 * 120, "        ", "byte 496: \"\" is no digital minimum"),
    ] {
        EDF.refuses(&whole, at, text.as_bytes(), says);
    }
}

#[test]
fn annotations_alone_are_no_recording() {
    let mut file = File::edf("EDF+C", vec![texts("EDF Annotations", 8, &[b"+0\x14\x14"])]);
    file.duration = "0";
    let error = edf::parse(Bytes::from(file.bytes()), &nowhere()).unwrap_err();
    assert!(error.to_string().contains("holds annotations only"), "{error}");
    assert!(error.hint().unwrap().contains("belongs to a recording"));
}

#[test]
fn many_annotations_about_many_signals_take_no_time() {
    // 600 signals, 60000 texts that each might name one of them.
    let mut signals: Vec<_> = (0..600).map(|_| counts("C3", &[&[0]])).collect();
    signals[599].label = "Cz";
    let block = b"+0\x14"
        .iter()
        .copied()
        .chain(b"a@@b\x14".iter().copied().cycle().take(300_000))
        .collect::<Vec<u8>>();
    let length = block.len() + 1;
    signals.push(texts("EDF Annotations", length + length % 2, &[&block]));
    let opened = edf::parse(Bytes::from(File::edf("EDF+C", signals).bytes()), &nowhere()).unwrap();
    assert_eq!(opened.annotations().len(), 60_000);
}
