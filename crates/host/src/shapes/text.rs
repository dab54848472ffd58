//! Small texts: durations, numbers, ids, and long things made short.

use bonded_kernel::{Held, Image, Millis, Money, RunId, Usage};

/// The first line, cut to `max` characters.
pub fn brief(text: &str, max: usize) -> String {
    let mut words = String::new();
    for (count, c) in text.trim().chars().enumerate() {
        if count == max {
            words.push('…');
            break;
        }
        words.push(if c.is_control() { ' ' } else { c });
    }
    words
}

/// Enough of an id to be unique among many; ids that people chose are shown whole.
pub fn short_id(id: &RunId) -> &str {
    let id = id.as_str();
    let drawn = id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit());
    if drawn { &id[..8] } else { id }
}

/// In the unit that a person would choose, and a smaller one.
pub fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1000.0),
        60_000..3_600_000 => format!("{} min {:02} s", ms / 60_000, ms / 1000 % 60),
        _ => format!("{} h {:02} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// All of them together.
pub fn tokens(usage: &Usage) -> String {
    format!("{} tokens", grouped(usage.total()))
}

/// What is held beside what was used, as the end of a line that says the latter.
pub fn held(held: &Held) -> String {
    let requests = match held.requests {
        0 => return String::new(),
        1 => "a request of unknown usage".to_owned(),
        many => format!("{many} requests of unknown usage"),
    };
    let money = cost(held.cost).map(|cost| format!(" and {cost}"));
    let tokens = grouped(held.usage.total());
    format!(
        " used; {tokens} tokens{} held for {requests}",
        money.unwrap_or_default()
    )
}

/// What is told of an image, with enough of its hash to find it by.
pub fn image(image: &Image) -> String {
    let (kind, blob) = (image.format().as_str(), image.blob());
    let bytes = usize::try_from(blob.bytes).unwrap_or(usize::MAX);
    let hash = blob.hash.to_string();
    let (width, height) = (image.width(), image.height());
    format!("{kind} {width}x{height} {} {}", size(bytes), &hash[..12])
}

/// A number of things: `1 file`, `2 files`.
pub fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// With a comma after each three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes as people say it, in thousands: `900 B`, `1.2 kB`, `12 kB`.
pub fn size(bytes: usize) -> String {
    const UNITS: [&str; 4] = ["B", "kB", "MB", "GB"];
    let (mut size, mut unit) = (bytes as f64, 0);
    // Rounded first: 999.96 kB is 1.0 MB, not 1000 kB.
    while size >= 999.5 && unit + 1 < UNITS.len() {
        (size, unit) = (size / 1000.0, unit + 1);
    }
    match unit > 0 && size < 9.95 {
        true => format!("{size:.1} {}", UNITS[unit]),
        false => format!("{size:.0} {}", UNITS[unit]),
    }
}

/// A moment in the local time zone.
pub fn local_time(at: Millis) -> String {
    let timestamp = i64::try_from(at.0)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    match timestamp {
        Some(timestamp) => timestamp
            .to_zoned(jiff::tz::TimeZone::system())
            .strftime("%Y-%m-%d %H:%M:%S")
            .to_string(),
        None => at.0.to_string(),
    }
}

/// What was paid, where a price is known.
pub fn cost(cost: Money) -> Option<String> {
    (cost.0 > 0).then(|| cost.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_said_in_thousands() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (1_249, "1.2 kB"),
            (9_949, "9.9 kB"),
            (9_950, "10 kB"),
            (131_072, "131 kB"),
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (5_000_000_000_000, "5000 GB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn brief_cuts_at_characters_and_shows_no_control_codes() {
        assert_eq!(brief("  é\n\u{1b}[31mx ", 9), "é  [31mx");
        assert_eq!(brief("ééééé", 3), "ééé…");
    }
}
