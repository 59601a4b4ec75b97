//! How requests are counted.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// What NGINX needs to know to count requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestCounting {
    /// `--metrics-per-host`, `--metrics-per-undefined-host`.
    pub unknown_hosts: UnknownHosts,
    /// `--time-buckets`: seconds.
    pub time: Bounds,
    /// `--length-buckets`: bytes.
    pub length: Bounds,
    /// `--size-buckets`: bytes.
    pub size: Bounds,
    /// `--bucket-factor`: resolution of native histograms, as Prometheus numbers it: buckets grow by `2^(2^-schema)`. `None`: there are none.
    pub native_schema: Option<i32>,
}

/// What happens to requests for hosts that no Ingress has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownHosts {
    /// They are not counted.
    Skip,
    /// They are counted, under no name: there is no label for hosts.
    Count,
    /// They are counted under the name that the client gave, as are those of wildcards and of rules without a host.
    Name,
}

impl UnknownHosts {
    /// How Lua knows it.
    pub const fn wire(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Count => "count",
            Self::Name => "name",
        }
    }
}

/// Upper bounds of the buckets of a histogram: 1 to 100, positive, rising, in millionths of their unit so that they can be compared.
///
/// Text is numbers between commas, each with up to six digits behind the point; `1e+06` is one too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds(Arc<[u64]>);

const MILLION: f64 = 1e6;
/// Up to here every millionth has a bucket.
const LARGEST: f64 = 9e9;
const MOST: usize = 100;

/// Text is no list of bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidBounds(String);

impl fmt::Display for InvalidBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: expected 1 to {MOST} rising numbers between commas, each above 0 and up to {LARGEST:e}", self.0)
    }
}

impl std::error::Error for InvalidBounds {}

impl FromStr for Bounds {
    type Err = InvalidBounds;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidBounds(text.to_owned());
        let bound = |item: &str| {
            let number: f64 = item.trim().parse().ok()?;
            let millionths = (number * MILLION).round();
            // The range makes the conversion exact.
            (1.0..=LARGEST * MILLION).contains(&millionths).then_some(millionths as u64)
        };
        let bounds: Option<Vec<u64>> = text.split(',').map(bound).collect();
        let bounds = bounds.filter(|bounds| bounds.len() <= MOST && bounds.windows(2).all(|pair| pair[0] < pair[1])).ok_or_else(invalid)?;
        Ok(Self(bounds.into()))
    }
}

impl Bounds {
    /// The bounds in their unit, times `factor`.
    pub fn scaled(&self, factor: f64) -> impl Iterator<Item = f64> {
        // Multiplied first: what is a whole number afterwards is one exactly.
        self.0.iter().map(move |bound| *bound as f64 * factor / MILLION)
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, bound) in self.scaled(1.0).enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{bound}")?;
        }
        Ok(())
    }
}

impl RequestCounting {
    /// Names the bounds: what was counted with others can't be added.
    pub fn key(&self) -> String {
        let native = self.native_schema.map(|schema| format!(" native {schema}")).unwrap_or_default();
        format!("{} {} {}{native}", self.time, self.length, self.size)
    }
}

/// The widest buckets of a native histogram, and the finest.
const SCHEMAS: (f64, f64) = (-4.0, 8.0);

/// The resolution whose buckets grow by this factor at most, as far as there is one; `None` for up to 1.
pub fn native_schema(factor: f64) -> Option<i32> {
    let schema = -factor.log2().log2().floor();
    // The range makes the conversion exact.
    (factor > 1.0).then(|| schema.clamp(SCHEMAS.0, SCHEMAS.1) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rising_numbers() {
        for text in ["0.005,0.01,0.025,0.05,0.1,0.25,0.5,1,2.5,5,10", "10", "0.000001,9000000000"] {
            assert_eq!(text.parse::<Bounds>().map(|bounds| bounds.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("10, 1e+06".parse::<Bounds>().map(|bounds| bounds.to_string()), Ok("10,1000000".into()));
        for text in ["", "a", "1,1", "2,1", "0,1", "-1", "1,", "inf", "NaN", "1e10"] {
            assert_eq!(text.parse::<Bounds>(), Err(InvalidBounds(text.into())), "{text}");
        }
        assert!("1".repeat(4).parse::<Bounds>().is_ok());
        assert_eq!(
            InvalidBounds("2,1".into()).to_string(),
            "\"2,1\": expected 1 to 100 rising numbers between commas, each above 0 and up to 9e9"
        );
    }

    #[test]
    fn the_resolution_is_the_coarsest_that_grows_by_no_more_than_the_factor() {
        let factors = [0.0, 1.0, 1.00001, 1.005, 1.1, 1.2, 1.5, 2.0, 2.1, 4.0, 16.0, 65536.0, 1e9, f64::INFINITY, f64::NAN, -2.0];
        let schemas = factors.map(native_schema);
        let expected = [None, None, Some(8), Some(8), Some(3), Some(2), Some(1), Some(0), Some(0), Some(-1), Some(-2), Some(-4), Some(-4)];
        assert_eq!((&schemas[..13], &schemas[13..]), (&expected[..], &[Some(-4), None, None][..]));
    }

    #[test]
    fn seconds_become_whole_milliseconds() {
        let bounds: Bounds = "0.005,0.57,1.001".parse().expect("they rise");
        assert_eq!(bounds.scaled(1000.0).collect::<Vec<_>>(), [5.0, 570.0, 1001.0]);
    }
}
