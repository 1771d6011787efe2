//! Checksums of Zenodo's own listing, for files whose checksum is not known otherwise.

use std::collections::BTreeMap;
use std::io::Read;

use super::patience::Patience;
use super::plan::Checksum;
use super::plan::PlannedFile;
use super::shared::SharedDownload;
use super::trouble::DownloadFailure;

/// No listing is longer.
const LONGEST: u64 = 16 << 20;

/// A file of a record: checksum and size.
struct ZenodoFile {
    md5: String,
    size: Option<u64>,
}

/// The checksum of each file. Records are asked for once, and only those of which a file is missing.
pub(super) fn checksums(shared: &SharedDownload<'_>, files: &[PlannedFile]) -> Vec<Checksum> {
    let mut listings: BTreeMap<String, BTreeMap<String, ZenodoFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.found.is_none()) {
        if let Some((listing, _)) = unknown(file)
            && !listings.contains_key(&listing)
        {
            let listed = ask(shared, &listing);
            listings.insert(listing, listed);
        }
    }
    let checksum = |(i, file): (usize, &PlannedFile)| {
        let listed = unknown(file).and_then(|(listing, name)| listings.get(&listing)?.get(name));
        let Some(listed) = listed else { return file.remote.checksum.clone() };
        shared.tally(i).sized(listed.size);
        Checksum::Md5(listed.md5.clone())
    };
    files.iter().enumerate().map(checksum).collect()
}

/// The listing that has the checksum of a file, and the file's name in it, where the checksum is not known otherwise.
fn unknown(file: &PlannedFile) -> Option<(String, &str)> {
    if file.remote.checksum == Checksum::Unpublished { listing(&file.remote.url) } else { None }
}

/// `https://zenodo.org/records/ID/files/NAME?download=1`, taken apart.
fn listing(url: &str) -> Option<(String, &str)> {
    let address = url.strip_suffix("?download=1")?;
    let (host, rest) = address.split_once("/records/")?;
    let (id, name) = rest.split_once("/files/")?;
    let sound = !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()) && !name.is_empty();
    sound.then(|| (format!("{host}/api/records/{id}"), name))
}

/// A listing; nothing where it cannot be had, with a note.
fn ask(shared: &SharedDownload<'_>, url: &str) -> BTreeMap<String, ZenodoFile> {
    let mut patience = Patience::new();
    let trouble = loop {
        match read(shared, url) {
            Ok(listed) => return listed,
            Err(trouble) => match patience.after(trouble, false, shared.settings) {
                Ok(pause) if shared.wait(pause).is_ok() => {}
                Ok(_) => return BTreeMap::new(),
                Err(trouble) => break trouble,
            },
        }
    };
    if matches!(trouble, DownloadFailure::Exhausted { .. }) {
        shared.unreached();
    }
    if let DownloadFailure::Lasting { message, .. } | DownloadFailure::Exhausted { message, .. } = trouble {
        shared.note(format!("no published checksums: {message}; those of the first download are kept"));
    }
    BTreeMap::new()
}

fn read(shared: &SharedDownload<'_>, url: &str) -> Result<BTreeMap<String, ZenodoFile>, DownloadFailure> {
    let response = shared.client.get(url, &[("accept", "application/json".into())])?;
    let mut bytes = vec![];
    let body = response.into_body().into_reader().take(LONGEST).read_to_end(&mut bytes);
    body.map_err(|e| super::client::lost(&e))?;
    let value = serde_json::from_slice(&bytes);
    let value: serde_json::Value =
        value.map_err(|e| DownloadFailure::lasting(format!("{url} is no listing: {e}"), ""))?;
    let files = value.get("files").and_then(|files| files.as_array());
    let files = files.ok_or_else(|| DownloadFailure::lasting(format!("{url} lists no files"), ""))?;
    Ok(files.iter().filter_map(listed).collect())
}

fn listed(file: &serde_json::Value) -> Option<(String, ZenodoFile)> {
    let md5 = file.get("checksum")?.as_str()?.strip_prefix("md5:")?;
    let sound = md5.len() == 32 && md5.bytes().all(|b| b.is_ascii_hexdigit());
    let size = file.get("size").and_then(|size| size.as_u64());
    sound
        .then(|| Some((file.get("key")?.as_str()?.to_string(), ZenodoFile { md5: md5.to_string(), size })))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_records_have_a_listing() {
        let url = "https://zenodo.org/records/4004271/files/S1.mat?download=1";
        assert_eq!(listing(url), Some(("https://zenodo.org/api/records/4004271".into(), "S1.mat")));
        for url in [
            "https://zenodo.org/records/4004271/files/S1.mat",
            "https://zenodo.org/records/x/files/S1.mat?download=1",
            "https://zenodo.org/records//files/S1.mat?download=1",
            "https://zenodo.org/records/1/files/?download=1",
            "https://example.org/S1.mat?download=1",
        ] {
            assert_eq!(listing(url), None, "{url}");
        }
    }

    #[test]
    fn only_sound_checksums_are_taken() {
        let file = |text: &str| serde_json::from_str(text).ok().as_ref().and_then(listed);
        let md5 = "900150983cd24fb0d6963f7d28e17f72";
        let (name, listed) = file(&format!("{{\"key\": \"a\", \"size\": 3, \"checksum\": \"md5:{md5}\"}}"))
            .expect("it is sound");
        assert_eq!((&*name, &*listed.md5, listed.size), ("a", md5, Some(3)));
        assert!(file("{\"key\": \"a\", \"checksum\": \"md5:12\"}").is_none());
        assert!(file("{\"key\": \"a\", \"checksum\": \"sha1:12\"}").is_none());
        assert!(file(&format!("{{\"checksum\": \"md5:{md5}\"}}")).is_none());
        assert!(file("3").is_none());
    }
}
