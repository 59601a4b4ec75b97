//! From figures to pixels.

/// A linear axis from zero, or one of powers of ten.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// From zero up to this.
    Linear {
        /// The end of the axis.
        most: f64,
        /// The distance of its ticks.
        step: f64,
    },
    /// Powers of ten from one up to another.
    Log {
        /// The exponent at the start.
        from: i32,
        /// That at the end.
        to: i32,
    },
}

impl Scale {
    /// The axis for values up to this, with round ticks: at most six of them.
    pub fn linear(most: f64) -> Self {
        let rough = most.max(f64::MIN_POSITIVE) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= rough * 0.999).unwrap_or(power);
        Self::Linear { most: (most / step).ceil() * step, step }
    }

    /// The axis for values of this range.
    pub fn log(least: f64, most: f64) -> Self {
        let from = least.log10().floor() as i32;
        Self::Log { from, to: (most.log10().ceil() as i32).max(from + 1) }
    }

    /// The place of a value: 0 at the start, 1 at the end. Values outside are at the nearer end.
    pub fn place(self, value: f64) -> f64 {
        let place = match self {
            Self::Linear { most, .. } => value / most,
            Self::Log { from, to } => (value.log10() - f64::from(from)) / f64::from(to - from),
        };
        place.clamp(0.0, 1.0)
    }

    /// Values with a line and a label.
    pub fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { most, step } => (0..=(most / step).round() as u32).map(|count| f64::from(count) * step).collect(),
            Self::Log { from, to } => (from..=to).map(|power| 10f64.powi(power)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_axes_begin_at_zero_and_have_round_ticks() {
        assert_eq!(Scale::linear(19.9).ticks(), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(Scale::linear(1262.0).ticks(), [0.0, 500.0, 1000.0, 1500.0]);
        assert_eq!(Scale::linear(1.0).ticks(), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        for most in [0.003, 0.98, 7.0, 12.0, 95.6, 1e6] {
            let scale = Scale::linear(most);
            assert!(scale.ticks().len() <= 7 && scale.place(most) > 0.6 && scale.place(most) <= 1.0, "{most}: {scale:?}");
            assert_eq!(scale.place(0.0), 0.0);
        }
    }

    #[test]
    fn logarithmic_axes_have_a_tick_for_each_power_of_ten() {
        let scale = Scale::log(1.4, 3986.0);
        assert_eq!(scale.ticks(), [1.0, 10.0, 100.0, 1000.0, 10_000.0]);
        assert_eq!([1.0, 100.0, 10_000.0, 1e9, 0.1].map(|value| scale.place(value)), [0.0, 0.5, 1.0, 1.0, 0.0]);
        assert_eq!(Scale::log(10.0, 10.0).ticks(), [10.0, 100.0]);
    }
}
