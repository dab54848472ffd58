//! Whether something grows or only moves: a line through the means of ten stretches of the time, with the bounds
//! between which its slope lies nineteen times in twenty. Means of stretches hardly depend on one another, as single
//! looks do, so that the bounds mean what they say.

use std::fmt;

const STRETCHES: usize = 10;

/// Student's t for eight degrees of freedom and ninety-five in a hundred.
const T: f64 = 2.306;

/// The first quarter is for warming up.
const WARM_UP: f64 = 0.25;

#[derive(Debug)]
pub(crate) struct Growth {
    means: Vec<f64>,
    slope: f64,
    /// The slope is within this of the truth.
    bound: f64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    Steady,
    Grows,
}

impl Growth {
    /// Points are minutes and values. Nothing where there are too few.
    pub(crate) fn of(points: &[(f64, f64)]) -> Option<Self> {
        let from = (points.len() as f64 * WARM_UP) as usize;
        let warm = points.get(from..)?;
        let length = warm.len() / STRETCHES;
        if length == 0 {
            return None;
        }
        let means: Vec<(f64, f64)> = warm
            .chunks_exact(length)
            .take(STRETCHES)
            .map(|stretch| {
                let mean = |of: fn(&(f64, f64)) -> f64| {
                    stretch.iter().map(of).sum::<f64>() / stretch.len() as f64
                };
                (mean(|point| point.0), mean(|point| point.1))
            })
            .collect();
        let (slope, error) = line(&means);
        Some(Self {
            means: means.into_iter().map(|(_, value)| value).collect(),
            slope,
            bound: T * error,
        })
    }

    /// It grows where even the lower bound of its slope is more than it may be.
    pub(crate) fn judged(&self, allowed: f64) -> Judged {
        match self.slope - self.bound > allowed {
            true => Judged::Grows,
            false => Judged::Steady,
        }
    }
}

/// The slope of the line of least squares, and its standard error.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let together: f64 = points
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum();
    let slope = together / spread;
    let rest: f64 = points
        .iter()
        .map(|point| (point.1 - y - slope * (point.0 - x)).powi(2))
        .sum();
    (slope, (rest / (count - 2.0) / spread).sqrt())
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = self.means.split_at(self.means.len() / 2);
        let mean = |half: &[f64]| half.iter().sum::<f64>() / half.len() as f64;
        write!(
            f,
            "{:+.2} ± {:.2} a minute; halves {:.1}, {:.1}; means",
            self.slope,
            self.bound,
            mean(first),
            mean(second)
        )?;
        self.means
            .iter()
            .try_for_each(|mean| write!(f, " {mean:.0}"))
    }
}

#[test]
fn what_grows_is_told_from_what_only_moves() {
    let noise = |at: u32| f64::from(at * 7919 % 101);
    let points = |a_minute: f64| -> Vec<(f64, f64)> {
        (0..400)
            .map(|at| {
                (
                    f64::from(at) / 6.0,
                    1000.0 + noise(at) + a_minute * f64::from(at) / 6.0,
                )
            })
            .collect()
    };
    let judged = |a_minute: f64| Growth::of(&points(a_minute)).map(|growth| growth.judged(1.0));
    assert_eq!(judged(0.0), Some(Judged::Steady));
    assert_eq!(judged(5.0), Some(Judged::Grows));
    assert_eq!(judged(-5.0), Some(Judged::Steady));
    assert!(Growth::of(&points(0.0)[..8]).is_none());
}
