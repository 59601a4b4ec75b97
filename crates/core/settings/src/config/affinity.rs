//! The processors of the workers.

use std::fmt;
use std::str::FromStr;

use ngx_value::Invalid;

/// Arguments of `worker_cpu_affinity`: a bit mask of processors for each worker, or `auto`, with a mask of those to use or without.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CpuAffinity(Vec<String>);

/// Processors that NGINX knows.
const PROCESSORS: usize = 1024;

impl CpuAffinity {
    /// The arguments.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl FromStr for CpuAffinity {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let masks = match words.as_slice() {
            ["auto"] => &[],
            ["auto", mask] => std::slice::from_ref(mask),
            masks => masks,
        };
        let is_mask = |word: &&str| word.len() <= PROCESSORS && word.bytes().all(|byte| matches!(byte, b'0' | b'1'));
        if words.is_empty() || words.len() > PROCESSORS || !masks.iter().all(is_mask) {
            return Err(Invalid::new("auto, auto and a bit mask, or a bit mask such as 0001 for each worker"));
        }
        Ok(Self(words.into_iter().map(str::to_owned).collect()))
    }
}

impl fmt::Display for CpuAffinity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_auto_are_taken_and_nothing_else() {
        for text in ["auto", "auto 0101", "01 10", "0001"] {
            assert_eq!(text.parse::<CpuAffinity>().unwrap().to_string(), text);
        }
        assert_eq!(" auto  11 ".parse::<CpuAffinity>().unwrap().to_string(), "auto 11");
        for text in ["", "0x1", "auto 01 10", "01 auto", "01;", "Auto", "2"] {
            assert!(text.parse::<CpuAffinity>().is_err(), "{text}");
        }
    }
}
