//! Figures: ours, the floor's, the ratio, the goal, and whether it is met.

use std::fmt;

#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) ours: f64,
    pub(crate) floor: Option<f64>,
    pub(crate) goal: Goal,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    /// Times the floor.
    RatioAtMost(f64),
    RatioAtLeast(f64),
    AtMost(f64),
    /// So much at most, and so many times the floor.
    AtMostAndRatio(f64, f64),
    /// For information.
    Nothing,
    /// Ours must be equal to this.
    Exactly(f64),
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RatioAtMost(ratio) => write!(f, "<= {ratio} x floor"),
            Self::RatioAtLeast(ratio) => write!(f, ">= {ratio} x floor"),
            Self::AtMost(value) => write!(f, "<= {value}"),
            Self::AtMostAndRatio(value, ratio) => write!(f, "<= {value}, <= {ratio} x floor"),
            Self::Nothing => f.write_str("-"),
            Self::Exactly(value) => write!(f, "= {value}"),
        }
    }
}

impl Figure {
    pub(crate) fn new(name: impl Into<String>, unit: &'static str, ours: f64, goal: Goal) -> Self {
        Self {
            name: name.into(),
            unit,
            ours,
            floor: None,
            goal,
        }
    }

    pub(crate) fn beside(mut self, floor: f64) -> Self {
        self.floor = Some(floor);
        self
    }

    fn ratio(&self) -> Option<f64> {
        self.floor
            .filter(|floor| *floor > 0.0)
            .map(|floor| self.ours / floor)
    }

    /// A ratio that could not be computed meets no goal.
    pub(crate) fn is_met(&self) -> bool {
        match self.goal {
            Goal::RatioAtMost(max) => self.ratio().is_some_and(|ratio| ratio <= max),
            Goal::RatioAtLeast(min) => self.ratio().is_some_and(|ratio| ratio >= min),
            Goal::AtMost(max) => self.ours <= max,
            Goal::AtMostAndRatio(max, ratio_max) => {
                self.ours <= max && self.ratio().is_some_and(|ratio| ratio <= ratio_max)
            }
            Goal::Nothing => true,
            Goal::Exactly(value) => self.ours == value,
        }
    }

    fn verdict(&self) -> &'static str {
        match (self.goal, self.is_met()) {
            (Goal::Nothing, _) => "",
            (_, true) => "ok",
            (_, false) => "MISS",
        }
    }
}

/// The middle one, which a single bad round does not move.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

pub(crate) fn table(figures: &[Figure]) -> String {
    let mut rows = vec![["figure", "unit", "ours", "floor", "ratio", "goal", ""].map(String::from)];
    for figure in figures {
        rows.push([
            figure.name.clone(),
            figure.unit.to_owned(),
            rounded(Some(figure.ours)),
            rounded(figure.floor),
            rounded(figure.ratio()),
            figure.goal.to_string(),
            figure.verdict().to_owned(),
        ]);
    }
    let widths: Vec<usize> = (0..7)
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            // Numbers to the right, words to the left.
            let cell = match column {
                2..=4 => format!("{cell:>width$}  "),
                _ => format!("{cell:<width$}  "),
            };
            text.push_str(&cell);
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

fn rounded(value: Option<f64>) -> String {
    match value {
        None => String::new(),
        Some(value) if value.abs() >= 100.0 => format!("{value:.0}"),
        Some(value) if value.abs() >= 10.0 => format!("{value:.1}"),
        Some(value) if value.abs() >= 1.0 => format!("{value:.2}"),
        Some(value) => format!("{value:.3}"),
    }
}

pub(crate) fn json(figures: &[Figure]) -> String {
    let objects: Vec<String> = figures.iter().map(json_object).collect();
    format!("[\n{}\n]\n", objects.join(",\n"))
}

fn json_object(figure: &Figure) -> String {
    // JSON has no NaN, and a figure that is none is better absent than wrong.
    let number = |value: Option<f64>| match value.filter(|value| value.is_finite()) {
        Some(value) => value.to_string(),
        None => "null".to_owned(),
    };
    format!(
        "  {{\"figure\": {:?}, \"unit\": {:?}, \"ours\": {}, \"floor\": {}, \"ratio\": {}, \"goal\": {:?}, \"met\": {}}}",
        figure.name,
        figure.unit,
        number(Some(figure.ours)),
        number(figure.floor),
        number(figure.ratio()),
        figure.goal.to_string(),
        figure.is_met(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_up_to_its_bound_and_not_beyond() {
        let figure = |ours, goal| Figure::new("f", "ms", ours, goal);
        let cases = [
            (figure(2.0, Goal::RatioAtMost(2.0)).beside(1.0), true),
            (figure(2.1, Goal::RatioAtMost(2.0)).beside(1.0), false),
            (figure(2.0, Goal::RatioAtMost(2.0)), false),
            (figure(0.5, Goal::RatioAtLeast(0.5)).beside(1.0), true),
            (figure(0.4, Goal::RatioAtLeast(0.5)).beside(1.0), false),
            (figure(20.0, Goal::AtMost(20.0)), true),
            (figure(20.1, Goal::AtMost(20.0)), false),
            (figure(f64::NAN, Goal::AtMost(20.0)), false),
            (
                figure(2.0, Goal::AtMostAndRatio(20.0, 2.0)).beside(1.0),
                true,
            ),
            (
                figure(2.1, Goal::AtMostAndRatio(20.0, 2.0)).beside(1.0),
                false,
            ),
            (
                figure(20.1, Goal::AtMostAndRatio(20.0, 2.0)).beside(19.0),
                false,
            ),
            (figure(1.0, Goal::Exactly(1.0)), true),
            (figure(0.0, Goal::Exactly(1.0)), false),
            (figure(99.0, Goal::Nothing), true),
        ];
        for (figure, expected) in cases {
            assert_eq!(figure.is_met(), expected, "{figure:?}");
        }
    }

    #[test]
    fn the_median_is_not_moved_by_one_bad_round() {
        assert_eq!(median(vec![3.0, 1.0, 900.0, 2.0, 2.5]), 2.5);
        assert!(median(vec![]).is_nan());
    }
}
