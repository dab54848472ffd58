//! Which models can be asked from here, and what to do where there is none.
//!
//! Every endpoint that is set up is asked for its list, each with its own key: a key that is refused is found out
//! here and not by the first run. What is not set up is one line, since most people need one of them.

use bonded_host::offers::{Model, NotOffered, ProviderOffer};
use bonded_host::shapes::text::counted;
use bonded_transport::models;

use super::Finding;
use crate::args::variable;
use crate::settings;

/// What was found out about models.
pub(super) struct ModelsReport {
    pub(super) findings: Vec<Finding>,
    /// The command that a person can try next; nothing where no model can be asked.
    pub(super) next: Option<String>,
}

pub(super) async fn check() -> ModelsReport {
    let listed = Finding::Good(format!(
        "prices and windows of {} models are built in, as of {} ({}); `pricing` and `contextWindow` take precedence",
        models::ModelRow::rows().count(),
        models::listed_on(),
        models::listed_by()
    ));
    match settings::offered(None).await {
        Ok(offers) => {
            let mut findings = of_offers(&offers);
            findings.extend(variable("BONDED_MODEL").map(|model| {
                Finding::Good(format!(
                    "BONDED_MODEL is {model}: the model of runs that name none"
                ))
            }));
            findings.push(listed);
            ModelsReport {
                findings,
                next: next(&offers),
            }
        }
        Err(error) => ModelsReport {
            findings: vec![Finding::Bad(error), listed],
            next: None,
        },
    }
}

/// The command that needs the least: the model of the variable, else the first that is offered, one with a known price
/// before others.
fn next(offers: &[ProviderOffer]) -> Option<String> {
    const GOAL: &str = "\"explain this repository\"";
    if variable("BONDED_MODEL").is_some() {
        return Some(format!("bonded run {GOAL}"));
    }
    let all: Vec<&Model> = offers
        .iter()
        .filter_map(|it| it.models.as_ref().ok())
        .flatten()
        .collect();
    let model = all.iter().find(|it| it.price.is_some()).or(all.first())?;
    Some(format!("bonded run --model {} {GOAL}", model.name))
}

fn of_offers(offers: &[ProviderOffer]) -> Vec<Finding> {
    let mut findings = vec![];
    let (mut keyless, mut silent) = (vec![], vec![]);
    for offer in offers {
        let provider = &offer.provider;
        match &offer.models {
            Ok(models) => findings.push(Finding::Good(answered(provider, models))),
            Err(NotOffered::NoList) => {
                findings.push(Finding::Good(format!(
                    "{provider}: answers, without a list of models"
                )));
            }
            Err(NotOffered::NoKey { variable }) => keyless.push(format!("{provider} ({variable})")),
            Err(NotOffered::NoAnswer) => silent.push(provider.clone()),
            Err(NotOffered::Refused { why } | NotOffered::Unusable { why }) => {
                let why = why.strip_prefix(&format!("{provider}: ")).unwrap_or(why);
                let how = format!("check its key and address: bonded models {provider}");
                findings.push(Finding::Missing(format!("{provider}: {why}"), how));
            }
        }
    }
    let groups = [("no key", keyless), ("no answer", silent)];
    let groups = groups.into_iter().filter(|(_, names)| !names.is_empty());
    findings.extend(
        groups.map(|(title, names)| Finding::Absent(format!("{title}: {}", names.join(", ")))),
    );
    findings
}

fn answered(provider: &str, models: &[Model]) -> String {
    let count = counted(models.len(), "model");
    match models.first() {
        Some(first) => format!("{provider}: {count}, such as {}", first.name),
        None => format!("{provider}: answers, with no models"),
    }
}
