//! When to try again, and how long to wait before.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Settings;
use super::trouble::{AGAIN, DownloadFailure};

/// The longest wait that a server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);

/// The tries of one file.
pub(super) struct Patience {
    /// Tries in a row that brought nothing.
    fruitless: u32,
}

impl Patience {
    pub(super) fn new() -> Patience {
        Patience { fruitless: 0 }
    }

    /// How long to wait before the next try, after one that brought something or nothing. Trouble that stays comes back, and
    /// so does trouble that was met too often.
    pub(super) fn after(
        &mut self,
        trouble: DownloadFailure,
        brought: bool,
        settings: &Settings,
    ) -> Result<Duration, DownloadFailure> {
        let DownloadFailure::Passing { message, wait } = trouble else { return Err(trouble) };
        self.fruitless = if brought { 0 } else { self.fruitless + 1 };
        if self.fruitless >= settings.tries {
            let message = format!("{message} ({} tries)", settings.tries);
            return Err(DownloadFailure::Exhausted { message, hint: AGAIN });
        }
        match wait {
            Some(wait) if wait > LONGEST_WAIT => Err(DownloadFailure::Exhausted {
                message: format!("{message} and asks to come back in {} s", wait.as_secs()),
                hint: "give the same command again then: it goes on where it was",
            }),
            Some(wait) => Ok(wait),
            None => Ok(self.pause(settings)),
        }
    }

    /// Twice as long each time, and not the same for all who wait.
    fn pause(&self, settings: &Settings) -> Duration {
        let doubled = settings.pause.saturating_mul(1 << self.fruitless.saturating_sub(1).min(16));
        doubled.min(settings.longest_pause).mul_f64(0.5 + 0.5 * rand::random::<f64>())
    }
}

/// The time a `Retry-After` header asks for: seconds, or a date.
pub(super) fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let now = now.duration_since(UNIX_EPOCH).ok()?;
    Some(Duration::from_secs(date(text)?).saturating_sub(now))
}

/// `Wed, 21 Oct 2015 07:28:00 GMT` in seconds since 1970 (RFC 9110, section 5.6.7; the older forms are no longer sent).
fn date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, text) = text.split_once(", ")?;
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let [day, month, year, time, "GMT"] = words[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let (day, year): (u64, u64) = (day.parse().ok()?, year.parse().ok()?);
    let clock: Vec<u64> = time.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = clock[..] else { return None };
    let sound = (1970..10_000).contains(&year) && (1..=31).contains(&day);
    if !sound || hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    // Years that begin in March, so that the leap day is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    // From the first of March of the year 0.
    (days.checked_sub(719_468)? * 24 + hours).checked_mul(3600)?.checked_add(minutes * 60 + seconds)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_begin_anew_when_something_arrived() {
        let settings = Settings { tries: 20, ..Settings::default() };
        let mut patience = Patience::new();
        let mut longest = 0.0f64;
        for i in 0..15 {
            let pause =
                patience.after(DownloadFailure::passing("lost"), false, &settings).unwrap().as_secs_f64();
            let whole = 2f64.powi(i).min(60.0);
            assert!(pause >= whole / 2.0 && pause <= whole, "{pause} s after try {i}");
            longest = longest.max(pause);
        }
        assert!(longest > 30.0);
        let pause = patience.after(DownloadFailure::passing("lost"), true, &settings).unwrap();
        assert!(pause <= Duration::from_secs(1));
    }

    #[test]
    fn it_ends() {
        let settings = Settings { tries: 3, ..Settings::default() };
        let mut patience = Patience::new();
        for _ in 0..2 {
            patience.after(DownloadFailure::passing("lost"), false, &settings).unwrap();
        }
        let Err(DownloadFailure::Exhausted { message, .. }) =
            patience.after(DownloadFailure::passing("lost"), false, &settings)
        else {
            panic!("it goes on");
        };
        assert_eq!(message, "lost (3 tries)");
        let wait =
            |s| DownloadFailure::Passing { message: "busy".into(), wait: Some(Duration::from_secs(s)) };
        assert_eq!(Patience::new().after(wait(7), false, &settings).unwrap(), Duration::from_secs(7));
        assert!(matches!(
            Patience::new().after(wait(9000), false, &settings),
            Err(DownloadFailure::Exhausted { .. })
        ));
        assert!(matches!(
            Patience::new().after(DownloadFailure::Stopped, false, &settings),
            Err(DownloadFailure::Stopped)
        ));
    }

    #[test]
    fn servers_ask_in_seconds_or_by_a_date() {
        let now = UNIX_EPOCH + Duration::from_secs(1_445_412_470);
        let s = |text| retry_after(text, now).map(|d| d.as_secs());
        assert_eq!(s(" 120 "), Some(120));
        assert_eq!(s("Wed, 21 Oct 2015 07:28:00 GMT"), Some(10));
        assert_eq!(s("Wed, 21 Oct 2015 07:27:00 GMT"), Some(0));
        assert_eq!(date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(date("Thu, 29 Feb 2024 23:59:59 GMT"), Some(1_709_251_199));
        assert_eq!(date("Fri, 31 Dec 9999 23:59:59 GMT"), Some(253_402_300_799));
        for text in
            ["", "soon", "-1", "Wed, 21 Oct 2015", "Wed, 21 anF 2015 07:28:00 GMT", "x, 0 Oct 2015 0:0:0 GMT"]
        {
            assert_eq!(s(text), None, "{text}");
        }
    }
}
