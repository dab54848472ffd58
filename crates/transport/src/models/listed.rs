//! Listed prices and windows of models by their exact names, as two lists that others keep say them alike. The table is
//! written by `cargo xtask prices`; a name that does not stand in it has neither a price nor a window.
//!
//! It is a text that is looked through when somebody asks, so that a program that asks for nothing pays nothing.

use bonded_kernel::{LongPrice, Price, Target};

use super::service::Service;

/// Tab-separated: service, model, window, four rates, and the same four for requests beyond a number of tokens.
const TABLE: &str = include_str!("listed.tsv");

/// The day as of which the lists say so.
pub fn listed_on() -> &'static str {
    of_head().0
}

/// The lists, and their versions.
pub fn listed_by() -> &'static str {
    of_head().1
}

/// The day and the sources, out of the first comment that has them; empty texts where a table was written
/// without.
fn of_head() -> (&'static str, &'static str) {
    let line = TABLE
        .lines()
        .find_map(|line| line.strip_prefix("# as of "))
        .unwrap_or_default();
    line.split_once(", from ").unwrap_or((line, ""))
}

/// What the lists say of one model of one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelRow {
    /// As [`Service`] names it.
    pub service: &'static str,
    /// Exactly as requests name it.
    pub model: &'static str,
    /// The tokens that it takes in.
    pub window: Option<u64>,
    /// Absent where the lists do not agree, or have none.
    pub price: Option<Price>,
}

impl ModelRow {
    /// The row of a model at the service whose own address this is.
    pub fn at(endpoint: &str, model: &str) -> Option<Self> {
        Self::of(Service::at(endpoint)?.name, model)
    }

    /// The row of a model of a service.
    fn of(service: &str, model: &str) -> Option<Self> {
        // Only the line that is meant is read.
        let is_its = |line: &&str| {
            let after = line.strip_prefix(service)?.strip_prefix('\t')?;
            Some(after.strip_prefix(model)?.starts_with('\t'))
        };
        let line = TABLE.lines().find(|line| is_its(line) == Some(true))?;
        Self::read(line).filter(|row| row.model == model)
    }

    /// All rows, in their order.
    pub fn rows() -> impl Iterator<Item = Self> {
        TABLE
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(Self::read)
    }

    /// `None` for a line with too few cells. A cell that holds no number is a number that the lists do not
    /// have.
    fn read(line: &'static str) -> Option<Self> {
        let mut cells = line.split('\t');
        let (service, model) = (cells.next()?, cells.next()?);
        let window = cells.next()?.parse().ok();
        let rates = Rates::read(&mut cells);
        let tokens = cells.next()?.parse().ok();
        let long = Rates::read(&mut cells);
        let above = tokens.and_then(|tokens| Some(long?.above(tokens)));
        Some(Self {
            service,
            model,
            window,
            price: rates.map(|rates| rates.price(above)),
        })
    }
}

/// What a request to a target costs by the lists. They speak of the service's default tier at its one address: another
/// tier, a region's address or a field of one's own in the request may cost something else, and then nothing is listed.
pub fn listed_price(target: &Target) -> Option<Price> {
    let service = Service::at(&target.endpoint)?;
    let is_its = service.sells_at(&target.endpoint);
    is_its.then(|| price_of(service.name, target)).flatten()
}

/// What a request to a target costs by the lists, where a person told the service's own client to ask elsewhere: what
/// stands there usually passes requests on. Another address of a service itself has prices of its own.
pub fn listed_price_behind(service: &str, target: &Target) -> Option<Price> {
    let is_elsewhere = Service::at(&target.endpoint).is_none();
    is_elsewhere.then(|| price_of(service, target)).flatten()
}

fn price_of(service: &str, target: &Target) -> Option<Price> {
    let is_default = |tier: &str| matches!(tier, "auto" | "default" | "standard" | "standard_only");
    let tier = target.sampling.service_tier.as_deref();
    let is_plain = tier.is_none_or(is_default) && target.custom.is_empty();
    is_plain.then(|| ModelRow::of(service, &target.model)?.price)?
}

/// In millionths of a dollar for a million tokens; input and output always, the others only where they are
/// listed.
struct Rates {
    input: u64,
    output: u64,
    cached: Option<u64>,
    written: Option<u64>,
}

impl Rates {
    fn read(cells: &mut impl Iterator<Item = &'static str>) -> Option<Self> {
        // All are taken, so that the next cell is the one after them.
        let [input, output, cached, written] = [(); 4].map(|()| cells.next().and_then(micro));
        Some(Self {
            input: input?,
            output: output?,
            cached,
            written,
        })
    }

    /// Where no price of cached tokens is listed, they cost what all others cost, so that an estimate is never
    /// too low.
    fn price(&self, above: Option<LongPrice>) -> Price {
        Price {
            input: self.input,
            output: self.output,
            cached: self.cached.unwrap_or(self.input),
            written: self.written,
            above,
        }
    }

    /// The same for requests beyond so many tokens.
    fn above(&self, tokens: u64) -> LongPrice {
        LongPrice {
            tokens,
            input: self.input,
            output: self.output,
            cached: self.cached.unwrap_or(self.input),
            written: self.written,
        }
    }
}

/// Dollars with at most six decimals as millionths of a dollar.
///
/// More decimals than six are no price, and neither is a sum that is too large for the type.
fn micro(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let scale = 10_u64.checked_pow(6_u32.checked_sub(u32::try_from(fraction.len()).ok()?)?)?;
    let whole: u64 = whole.parse().ok()?;
    let fraction: u64 = match fraction {
        "" => 0,
        digits => digits.parse().ok()?,
    };
    whole.checked_mul(1_000_000)?.checked_add(fraction * scale)
}
