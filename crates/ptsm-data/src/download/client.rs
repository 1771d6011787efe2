//! Asking servers, and what their answers mean.

use std::io;
use std::time::SystemTime;

use ureq::config::Config;
use ureq::http::{Response, StatusCode, header};
use ureq::{Agent, Body};

use super::Settings;
use super::patience::retry_after;
use super::trouble::DownloadFailure;
use crate::error::{Error, Result};

/// Asks servers.
#[derive(Clone)]
pub(super) struct Client {
    agent: Agent,
    mirror: Option<String>,
}

impl Client {
    pub(super) fn new(settings: &Settings) -> Result<Client> {
        let mirror = settings.mirror.as_deref().map(|mirror| mirror.trim_end_matches('/').to_string());
        if let Some(mirror) = &mirror {
            let host = mirror.strip_prefix("http://").or_else(|| mirror.strip_prefix("https://"));
            if host.is_none_or(|host| host.is_empty() || host.starts_with('/')) {
                return Err(Error::Mirror { text: mirror.clone() });
            }
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .user_agent(concat!("ptsm/", env!("CARGO_PKG_VERSION")))
            // A part of a compressed answer would be no part of the file.
            .accept_encoding("identity")
            .timeout_resolve(Some(settings.connect))
            .timeout_connect(Some(settings.connect))
            .timeout_recv_response(Some(settings.stall))
            .timeout_per_read(Some(settings.stall))
            .timeout_per_write(Some(settings.stall))
            .max_idle_connections_per_host(settings.connections.min(64));
        if mirror.as_deref().is_some_and(is_here) {
            config = config.proxy(None);
        }
        let config: Config = config.build();
        Ok(Client { agent: config.into(), mirror })
    }

    /// Asks for a file with some headers. Answers that bring nothing are trouble; `Range Not Satisfiable` is for the caller.
    pub(super) fn get(
        &self,
        url: &str,
        headers: &[(&str, String)],
    ) -> Result<Response<Body>, DownloadFailure> {
        let url = self.address(url);
        let mut request = self.agent.get(&*url);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let response = request.call().map_err(|e| failed(&url, e))?;
        match response.status() {
            StatusCode::OK | StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => Ok(response),
            status => Err(refused(&url, status, &response)),
        }
    }

    /// Where to ask for what is published at an address.
    pub(super) fn address(&self, url: &str) -> String {
        match (&self.mirror, url.split_once("://")) {
            (Some(mirror), Some((_, rest))) => {
                let path = rest.find('/').map_or("", |start| &rest[start..]);
                format!("{mirror}{path}")
            }
            _ => url.to_string(),
        }
    }

    /// Ends what is under way at once.
    pub(super) fn shut_down(&self) {
        self.agent.clone().shutdown();
    }
}

/// A header as text.
pub(super) fn header(response: &Response<Body>, name: header::HeaderName) -> Option<&str> {
    response.headers().get(name)?.to_str().ok()
}

/// A connection that was lost or never made.
pub(super) fn lost(error: &dyn std::fmt::Display) -> DownloadFailure {
    DownloadFailure::passing(format!("the connection was lost: {error}"))
}

/// Whether an address is on this machine, where no proxy leads to.
fn is_here(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    ["127.", "localhost", "[::1]"].iter().any(|here| host.starts_with(here))
}

fn failed(url: &str, error: ureq::Error) -> DownloadFailure {
    match error {
        ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => {
            DownloadFailure::passing(format!("{url}: the server cannot be reached in time"))
        }
        ureq::Error::Timeout(_) => {
            DownloadFailure::passing(format!("{url}: the server does not answer in time"))
        }
        ureq::Error::HostNotFound => DownloadFailure::passing(format!("{url}: there is no such server")),
        // What goes wrong while a secure connection is made.
        ureq::Error::Io(e) if e.kind() == io::ErrorKind::InvalidData => insecure(url, &e),
        ureq::Error::Rustls(e) => insecure(url, &e),
        ureq::Error::Io(e) => DownloadFailure::passing(format!("{url}: the server cannot be reached: {e}")),
        e @ (ureq::Error::ConnectionFailed
        | ureq::Error::ConnectProxyFailed(_)
        | ureq::Error::Protocol(_)
        | ureq::Error::LargeResponseHeader(..)
        | ureq::Error::BodyStalled) => DownloadFailure::passing(format!("{url}: {e}")),
        e => DownloadFailure::lasting(
            format!("{url}: {e}"),
            "check the address, and PTSM_MIRROR where it is set",
        ),
    }
}

fn insecure(url: &str, error: &dyn std::fmt::Display) -> DownloadFailure {
    DownloadFailure::lasting(
        format!("{url}: the connection would not be secure: {error}"),
        "check the date of this machine, and whether a proxy stands between",
    )
}

fn refused(url: &str, status: StatusCode, response: &Response<Body>) -> DownloadFailure {
    let message = format!("{url}: the server answers {status}");
    let passing =
        matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS);
    if passing || status.is_server_error() {
        let wait = header(response, header::RETRY_AFTER).and_then(|t| retry_after(t, SystemTime::now()));
        return DownloadFailure::Passing { message, wait };
    }
    DownloadFailure::lasting(
        message,
        match status {
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                "it may have moved: see where the data set is published, or check PTSM_MIRROR where it is set"
            }
            _ => "see whether it can be downloaded by hand in a browser, and put it there",
        },
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn address(mirror: &str, url: &str) -> String {
        let settings = Settings { mirror: Some(mirror.into()), ..Settings::default() };
        Client::new(&settings).unwrap().address(url)
    }

    #[test]
    fn a_mirror_stands_in_place_of_the_host() {
        let url = "https://example.org/records/1/files/S1.mat?download=1";
        assert_eq!(Client::new(&Settings::default()).unwrap().address(url), url);
        assert_eq!(
            address("http://127.0.0.1:80", url),
            "http://127.0.0.1:80/records/1/files/S1.mat?download=1"
        );
        assert_eq!(address("https://lab/eeg/", "http://example.org/a"), "https://lab/eeg/a");
        assert_eq!(address("https://lab", "https://example.org"), "https://lab");
        for mirror in ["lab", "ftp://lab", "https://", "http:///a", ""] {
            let settings = Settings { mirror: Some(mirror.into()), ..Settings::default() };
            let error = Client::new(&settings).err().unwrap();
            assert!(error.hint().unwrap().contains("https://"), "{mirror}: {error}");
        }
    }

    #[test]
    fn no_proxy_leads_to_this_machine() {
        assert!(
            is_here("http://127.0.0.1:8000") && is_here("http://localhost") && is_here("http://[::1]:80")
        );
        assert!(!is_here("https://example.org/127.0.0.1"));
    }
}
