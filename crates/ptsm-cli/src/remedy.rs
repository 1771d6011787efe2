//! What helps with errors whose library names the trouble but, not knowing this program, no remedy.

use std::error::Error;
use std::io;

pub(crate) fn of(error: &(dyn Error + 'static)) -> Option<&'static str> {
    // Transparent errors hide what they hold from the chain, so each library is looked into.
    let eval = error.downcast_ref().and_then(eval);
    eval.or_else(|| error.downcast_ref().and_then(decode))
        .or_else(|| error.downcast_ref().and_then(data))
        .or_else(|| error.downcast_ref().map(signal))
        .or_else(|| error.downcast_ref().and_then(file))
        .or_else(|| error.downcast_ref().and_then(system))
}

fn eval(error: &ptsm::eval::Error) -> Option<&'static str> {
    match error {
        ptsm::eval::Error::Decode(e) => decode(e),
        ptsm::eval::Error::Data(e) => data(e),
        ptsm::eval::Error::File { source, .. } => system(source),
        ptsm::eval::Error::Io(e) => file(e),
        ptsm::eval::Error::Signal(e) => Some(signal(e)),
        _ => None,
    }
}

fn decode(error: &ptsm::decode::Error) -> Option<&'static str> {
    match error {
        ptsm::decode::Error::File { .. } | ptsm::decode::Error::Engine(ptsm::engine::Error::File { .. }) => {
            Some("see that the file can be read and written and the disk has room")
        }
        ptsm::decode::Error::Configuration(_) | ptsm::decode::Error::Engine(_) => Some(
            "`ptsm models --json` shows all settings and their defaults, `ptsm models` which decoders adapt",
        ),
        ptsm::decode::Error::Signal(e) => Some(signal(e)),
        _ => None,
    }
}

fn data(error: &ptsm::data::Error) -> Option<&'static str> {
    match error {
        ptsm::data::Error::Signal { error, .. } => Some(signal(error)),
        ptsm::data::Error::File(e) => file(e),
        ptsm::data::Error::Cohort { .. } => Some("`ptsm data simulate --help` lists what can be set"),
        ptsm::data::Error::Content { .. } => Some("give a folder that can be written"),
        _ => None,
    }
}

fn signal(error: &ptsm::signal::Error) -> &'static str {
    match error {
        ptsm::signal::Error::Data { .. } => {
            "`ptsm data show` says what the data hold; a decoder wants what it was trained on"
        }
        _ => "`ptsm data pipeline` explains every key of `[pipeline]`",
    }
}

fn file(error: &ptsm::io::Error) -> Option<&'static str> {
    match error {
        ptsm::io::Error::System { error, .. } => system(error),
        _ => None,
    }
}

fn system(error: &io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        io::ErrorKind::NotFound => "check the path; a relative one starts at the working folder",
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "a file stands where a folder is needed; give another path"
        }
        io::ErrorKind::IsADirectory => "a folder stands where a file is needed; give another path",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "check who may read and write there, or give another path"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "make room on the disk, then give the same command again"
        }
        io::ErrorKind::InvalidData => "the file is not text; check that it is the one you mean",
        _ => return None,
    })
}
