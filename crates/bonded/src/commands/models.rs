//! `bonded models`: what the endpoints that are set up offer.
//!
//! The list goes to stdout, what could not be asked to stderr: most people have set up few of the endpoints that there
//! are, so that the others are one line. A provider that was named and cannot be asked is answered from the built-in list.

use std::process::ExitCode;

use bonded_host::offers::{Model, NotOffered, PriceSource, ProviderOffer, known_models};
use bonded_host::shapes::text::grouped;
use bonded_kernel::{Measure, Price};
use serde::Serialize;

use crate::args::ModelsArgs;
use crate::error::{CliError, Code};
use crate::render::table::{self, Side};
use crate::{output, settings};

pub(crate) async fn models(args: &ModelsArgs) -> Result<ExitCode, CliError> {
    let offers = settings::offered(args.provider.as_deref()).await?;
    match args.json {
        true => output::stdout(&json(&offers)?),
        false => show(&offers, args.provider.as_deref()),
    }
    Ok(ExitCode::SUCCESS)
}

fn show(offers: &[ProviderOffer], named: Option<&str>) {
    let mut models: Vec<Model> = offers
        .iter()
        .filter_map(|offer| offer.models.as_ref().ok())
        .flatten()
        .cloned()
        .collect();
    for line in not_offered(offers) {
        output::stderr(&line);
    }
    if let Some(provider) = named.filter(|_| models.is_empty()) {
        models = known_models(provider);
        if !models.is_empty() {
            output::stderr(&format!(
                "{provider} was not asked; these are the models in the built-in list"
            ));
        }
    }
    if !models.is_empty() {
        output::stdout(&rendered(&models));
    }
}

fn rendered(models: &[Model]) -> String {
    let titles = [
        ("MODEL", Side::Left),
        ("WINDOW", Side::Right),
        ("IN $/M", Side::Right),
        ("OUT $/M", Side::Right),
        ("PRICE FROM", Side::Left),
    ];
    let none = || "-".to_owned();
    let rows = models.iter().map(|model| {
        let rate =
            |of: fn(&Price) -> u64| model.price.as_ref().map_or_else(none, |it| dollars(of(it)));
        [
            model.name.clone(),
            model.window.map_or_else(none, window),
            rate(|price| price.input),
            rate(|price| price.output),
            model.price_from.map_or_else(none, price_from),
        ]
    });
    table::table(titles, rows)
}

/// In thousands where that is exact.
fn window(tokens: u64) -> String {
    match tokens % 1000 {
        0 => Measure::Tokens.written(tokens),
        _ => grouped(tokens),
    }
}

/// Microdollars as dollars, with cents at least.
fn dollars(micro: u64) -> String {
    let text = format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction = fraction.trim_end_matches('0');
    format!("{whole}.{fraction:0<2}")
}

fn price_from(source: PriceSource) -> String {
    match source {
        PriceSource::BuiltIn(day) => format!("built in, {day}"),
        PriceSource::Configured => "configured".into(),
        PriceSource::Endpoint => "the endpoint".into(),
        PriceSource::Local => "local".into(),
    }
}

/// What needs no attention is one line; what a person should mend has one each.
fn not_offered(offers: &[ProviderOffer]) -> Vec<String> {
    let mut keyless = vec![];
    let mut silent = vec![];
    let mut lines = vec![];
    for offer in offers {
        let provider = &offer.provider;
        match &offer.models {
            Ok(_) => {}
            Err(NotOffered::NoKey { variable }) if offers.len() == 1 => {
                lines.push(format!("{provider}: {variable} is not set"));
            }
            Err(NotOffered::NoKey { .. }) => keyless.push(provider.clone()),
            Err(NotOffered::NoAnswer) => silent.push(provider.clone()),
            Err(NotOffered::NoList) => {
                lines.push(format!("{provider} answers and has no list of models"));
            }
            Err(NotOffered::Refused { why } | NotOffered::Unusable { why }) => {
                // A failure names the provider itself.
                let why = why.strip_prefix(&format!("{provider}: ")).unwrap_or(why);
                lines.push(format!("{provider}: {why}"));
            }
        }
    }
    let parts = [("no key", keyless), ("no answer", silent)];
    let parts = parts.iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> = parts
        .map(|(title, names)| format!("{title}: {}", names.join(", ")))
        .collect();
    if !parts.is_empty() {
        lines.push(parts.join(" \u{b7} "));
    }
    lines
}

/// For programs; `docs/json.md` describes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listing<'a> {
    models: Vec<ModelShape<'a>>,
    not_offered: Vec<NotOfferedShape<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelShape<'a> {
    model: &'a str,
    provider: &'a str,
    window_tokens: Option<u64>,
    input_usd_per_million: Option<f64>,
    output_usd_per_million: Option<f64>,
    cached_input_usd_per_million: Option<f64>,
    price_from: Option<&'static str>,
    price_date: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NotOfferedShape<'a> {
    provider: &'a str,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_variable: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

fn json(offers: &[ProviderOffer]) -> Result<String, CliError> {
    let mut listing = Listing {
        models: vec![],
        not_offered: vec![],
    };
    for offer in offers {
        match &offer.models {
            Ok(models) => {
                let shapes = models.iter().map(|model| shape(&offer.provider, model));
                listing.models.extend(shapes);
            }
            Err(why) => listing.not_offered.push(reason(&offer.provider, why)),
        }
    }
    serde_json::to_string(&listing)
        .map_err(|error| CliError::new(Code::Internal, format!("cannot print the list: {error}")))
}

fn shape<'a>(provider: &'a str, model: &'a Model) -> ModelShape<'a> {
    let rate = |of: fn(&Price) -> u64| Some(of(model.price.as_ref()?) as f64 / 1e6);
    let (from, date) = match model.price_from {
        Some(PriceSource::BuiltIn(day)) => (Some("built_in"), Some(day)),
        Some(PriceSource::Configured) => (Some("configured"), None),
        Some(PriceSource::Endpoint) => (Some("endpoint"), None),
        Some(PriceSource::Local) => (Some("local"), None),
        None => (None, None),
    };
    ModelShape {
        model: &model.name,
        provider,
        window_tokens: model.window,
        input_usd_per_million: rate(|price| price.input),
        output_usd_per_million: rate(|price| price.output),
        cached_input_usd_per_million: rate(|price| price.cached),
        price_from: from,
        price_date: date,
    }
}

fn reason<'a>(provider: &'a str, why: &'a NotOffered) -> NotOfferedShape<'a> {
    let (reason, key_variable, message) = match why {
        NotOffered::NoKey { variable } => ("no_key", Some(variable.as_str()), None),
        NotOffered::NoAnswer => ("no_answer", None, None),
        NotOffered::NoList => ("no_list", None, None),
        NotOffered::Refused { why } => ("refused", None, Some(why.as_str())),
        NotOffered::Unusable { why } => ("unusable", None, Some(why.as_str())),
    };
    NotOfferedShape {
        provider,
        reason,
        key_variable,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_prices_are_short_and_exact() {
        let windows = [
            (128_000, "128k"),
            (1_000_000, "1M"),
            (131_072, "131,072"),
            (1_048_576, "1,048,576"),
            (16_385, "16,385"),
        ];
        for (tokens, expected) in windows {
            assert_eq!(window(tokens), expected);
        }
        let prices = [
            (250_000, "0.25"),
            (2_000_000, "2.00"),
            (25_000, "0.025"),
            (0, "0.00"),
            (12_500_000, "12.50"),
        ];
        for (micro, expected) in prices {
            assert_eq!(dollars(micro), expected);
        }
    }
}
