//! One try to get what is missing of a file.

use std::io::Read;

use ureq::Body;
use ureq::http::{Response, StatusCode, header};

use super::client::{header, lost};
use super::digest::CHUNK;
use super::part::{Identity, Part};
use super::plan::Checksum;
use super::shared::{SharedDownload, Tally};
use super::trouble::DownloadFailure;

/// Adds to a part until it is whole.
pub(super) fn attempt(
    shared: &SharedDownload<'_>,
    part: &mut Part,
    url: &str,
    checksum: &Checksum,
    tally: &Tally,
) -> Result<(), DownloadFailure> {
    if part.is_whole() {
        return Ok(());
    }
    let headers = continuing(part, checksum);
    if headers.is_empty() && part.length() > 0 {
        part.clear()?;
    }
    let response = shared.client.get(url, &headers)?;
    match response.status() {
        StatusCode::PARTIAL_CONTENT if continues(&response, part) => {}
        StatusCode::OK => part.begin(identity(url, &response)?)?,
        // Another file than the one that was begun, or nonsense.
        status => {
            part.clear()?;
            return Err(DownloadFailure::passing(format!(
                "the server cannot continue the file: it answers {status}"
            )));
        }
    }
    tally.sized(part.identity().and_then(|identity| identity.size));
    tally.arrived(part.length());
    receive(shared, part, response, tally)
}

/// Headers that ask for what is missing; none where the whole file is asked for.
fn continuing(part: &Part, checksum: &Checksum) -> Vec<(&'static str, String)> {
    let Some(identity) = part.identity().filter(|_| part.length() > 0) else { return vec![] };
    let range = ("range", format!("bytes={}-", part.length()));
    match identity.validator() {
        Some(validator) => vec![range, ("if-range", validator.to_string())],
        // Nothing to know the file by, but a wrong one would be found out at the end.
        None if *checksum != Checksum::Unpublished => vec![range],
        None => vec![],
    }
}

/// Whether an answer continues the part. `If-Range` should see to it, but not all servers know it.
fn continues(response: &Response<Body>, part: &Part) -> bool {
    let Some(identity) = part.identity() else { return false };
    let same = |own: &Option<String>, name| match (own, header(response, name)) {
        (Some(own), Some(new)) => own == new,
        _ => true,
    };
    let range = header(response, header::CONTENT_RANGE).and_then(range);
    let fits = range.is_some_and(|(first, total)| {
        first == part.length() && identity.size.is_none_or(|size| total.is_none_or(|total| total == size))
    });
    fits && same(&identity.etag, header::ETAG) && same(&identity.last_modified, header::LAST_MODIFIED)
}

/// The first byte and the size of the whole file: `bytes 100-199/200`, `bytes 100-199/*`.
fn range(text: &str) -> Option<(u64, Option<u64>)> {
    let (bytes, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let first = bytes.split_once('-')?.0.trim().parse().ok()?;
    match total.trim() {
        "*" => Some((first, None)),
        total => Some((first, Some(total.parse().ok()?))),
    }
}

/// What a server says of a file.
fn identity(url: &str, response: &Response<Body>) -> Result<Identity, DownloadFailure> {
    let is_page = |name: &str| name.ends_with(".html") || name.ends_with(".htm");
    let path = url.split(['?', '#']).next().unwrap_or(url);
    if header(response, header::CONTENT_TYPE).is_some_and(|t| t.starts_with("text/html")) && !is_page(path) {
        return Err(DownloadFailure::lasting(
            format!("{url}: a web page comes instead of the file"),
            "see in a browser what it says: terms to accept, a login of the network, a notice",
        ));
    }
    let text = |name| header(response, name).map(str::to_string);
    Ok(Identity {
        url: url.to_string(),
        etag: text(header::ETAG),
        last_modified: text(header::LAST_MODIFIED),
        size: response.body().content_length(),
    })
}

fn receive(
    shared: &SharedDownload<'_>,
    part: &mut Part,
    response: Response<Body>,
    tally: &Tally,
) -> Result<(), DownloadFailure> {
    let mut body = response.into_body().into_reader();
    let mut chunk = vec![0; CHUNK];
    loop {
        if shared.is_stopping() {
            return Err(DownloadFailure::Stopped);
        }
        let n = match body.read(&mut chunk) {
            Ok(n) => n,
            Err(_) if shared.is_stopping() => return Err(DownloadFailure::Stopped),
            Err(e) => return Err(lost(&e)),
        };
        if n == 0 {
            break;
        }
        part.append(&chunk[..n])?;
        shared.received(n);
        tally.arrived(part.length());
    }
    match part.identity().and_then(|identity| identity.size) {
        Some(size) if size != part.length() => {
            Err(lost(&format!("{} of {size} bytes have arrived", part.length())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn ranges_are_understood() {
        assert_eq!(range("bytes 100-199/200"), Some((100, Some(200))));
        assert_eq!(range("bytes 100-199/*"), Some((100, None)));
        for text in
            ["", "bytes */200", "bytes 1/2", "100-199/200", "bytes 1-2", "bytes x-2/3", "bytes 1-2/-3"]
        {
            assert_eq!(range(text), None, "{text}");
        }
    }
}
