//! What a run asks about its model when it starts: its family and its service, by their names.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Duration;

use bonded_kernel::Target;
use bonded_transport::dialect;
use bonded_transport::models::FAMILIES;
use serde_json::json;

use super::{Costs, Fault, cpu};

/// Of the first family, of the last one, and of none.
const MODELS: [&str; 4] = [
    "claude-3-7-sonnet-20250219",
    "gpt-5.1-codex-max",
    "meta-llama/Llama-3.3-70B-Instruct",
    "a-model-that-nobody-knows",
];

pub(super) fn costs(times: u32) -> Result<Costs, Fault> {
    let mut targets = vec![];
    for model in MODELS {
        let target = json!({
            "provider": "custom", "endpoint": "http://127.0.0.1/v1", "model": model, "timeout_ms": 1000,
        });
        targets.push(serde_json::from_value::<Target>(target)?);
    }
    let ours = of_each(times, |number| {
        black_box(dialect::known(black_box(&targets[number])));
    });
    let floor = of_each(times, |number| {
        // A program starts anew each time, so that its table is made anew too.
        let names = FAMILIES.iter().flat_map(|family| family.names);
        let known: HashMap<&str, usize> = names.map(|name| (*name, number)).collect();
        black_box(known.get(black_box(MODELS[number])));
    });
    Ok((ours, floor))
}

fn of_each(times: u32, look: impl Fn(usize)) -> Duration {
    let before = cpu();
    for number in 0..times as usize {
        look(number % MODELS.len());
    }
    (cpu() - before) / times.max(1)
}
