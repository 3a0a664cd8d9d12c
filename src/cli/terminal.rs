//! What a terminal may show.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

use jiff::{Timestamp, tz::TimeZone};

use crate::rules::Change;

/// Writes to stdout; whether anybody still reads it.
pub(super) fn write(output: impl AsRef<[u8]>) -> io::Result<bool> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(output.as_ref()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error),
    }
}

/// Which rule changed what, before and after; `count` may be more than were kept.
pub(super) fn changes(text: &mut String, changes: &[Change], count: usize) {
    let mut last = None;
    for change in changes {
        if last != Some(&change.rule) {
            let _ = writeln!(text, "{}", change.rule);
            last = Some(&change.rule);
        }
        let named = |value: &str| {
            let value = visible(value);
            if change.field.starts_with('(') { format!("{} {value}", change.field) } else { value }
        };
        if let Some(before) = &change.before {
            let _ = writeln!(text, "  - {}", named(before));
        }
        if let Some(after) = &change.after {
            let _ = writeln!(text, "  + {}", named(after));
        }
    }
    if count == 0 {
        text.push_str("no rule changes anything\n");
    } else if count > changes.len() {
        let _ = writeln!(text, "… and {} more changes", count - changes.len());
    }
}

/// A field as a terminal may show it: folded lines stand under the first, and a mail gives a terminal no orders.
pub(super) fn visible(value: &str) -> String {
    let mut shown = String::with_capacity(value.len());
    for one in value.replace("\r\n", "\n").chars() {
        match one {
            '\n' => shown.push_str("\n   "),
            other if other.is_control() && other != '\t' => {
                let _ = write!(shown, "\\x{:02x}", u32::from(other));
            }
            other => shown.push(other),
        }
    }
    shown
}

/// A text on one line.
pub(super) fn line(value: &str) -> String {
    let lines: Vec<&str> = value.split(['\r', '\n', '\t']).filter(|part| !part.is_empty()).collect();
    visible(&lines.join(" "))
}

/// A moment in the time of this machine.
pub(super) fn moment(time: Timestamp) -> String {
    time.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S %z").to_string()
}

/// How long from one moment to another, to two digits or three: `40s`, `12m`, `3h`, `5d`.
pub(super) fn span(from: Timestamp, to: Timestamp) -> String {
    let seconds = to.duration_since(from).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Octets, to two digits or three: `812`, `1.2K`, `34M`.
pub(super) fn size(octets: u64) -> String {
    let mut rest = octets as f64;
    for unit in ["", "K", "M", "G"] {
        if rest < 999.5 {
            let decimals = usize::from(rest < 9.95 && !unit.is_empty());
            return format!("{rest:.decimals$}{unit}");
        }
        rest /= 1000.0;
    }
    format!("{rest:.0}T")
}

/// A text of at most that many characters, with `…` at its end where it is cut.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_spans_are_short() {
        let sizes = [0, 812, 999, 1000, 1250, 9960, 34_000_000, 999_999_999, 5_000_000_000_000].map(size);
        assert_eq!(sizes, ["0", "812", "999", "1.0K", "1.2K", "10K", "34M", "1.0G", "5T"]);
        let at = |seconds: i64| Timestamp::from_second(1_800_000_000 + seconds).unwrap();
        let spans = [-5, 40, 119, 120, 7200, 172_799, 172_800].map(|seconds| span(at(0), at(seconds)));
        assert_eq!(spans, ["0s", "40s", "119s", "2m", "2h", "47h", "2d"]);
    }

    #[test]
    fn what_is_shown_gives_no_orders_and_stays_on_its_line() {
        assert_eq!(line("a\r\n b\u{1b}[31m\n"), "a  b\\x1b[31m");
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüx", 3), "äö…");
    }
}
