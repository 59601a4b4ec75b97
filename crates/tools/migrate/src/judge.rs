//! Differences between the controllers, as opposed to what varies by itself.

use crate::answer::{FailureKind, RequestOutcome};
use crate::difference::{Aspect, Change, differences};

/// The result of the rounds of one request. All empty: both answer alike.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestVerdict {
    /// Differences that were the same in every round.
    pub confirmed: Vec<Change>,
    /// Aspects that differed in one round and not, or otherwise, in another.
    pub varies: Vec<Aspect>,
    /// Neither controller could be reached, or answered in time: nothing is known.
    pub unreachable: bool,
}

/// Judges rounds of the same request, each the answers of the old and of the new controller. The first round decides what is looked at.
pub fn judge(rounds: &[(RequestOutcome, RequestOutcome)]) -> RequestVerdict {
    let Some(((old, new), later)) = rounds.split_first() else { return RequestVerdict::default() };
    let mut verdict = RequestVerdict { unreachable: is_silence(old) && is_silence(new), ..RequestVerdict::default() };
    let later: Vec<Vec<Change>> = later.iter().map(|(old, new)| differences(old, new)).collect();
    for change in differences(old, new) {
        if later.iter().all(|round| round.contains(&change)) {
            verdict.confirmed.push(change);
        } else {
            verdict.varies.push(change.aspect);
        }
    }
    verdict
}

/// `true` if nothing came at all. A refused handshake is an answer: configurations may demand it.
pub(crate) fn is_silence(outcome: &RequestOutcome) -> bool {
    matches!(outcome, Err(failure) if matches!(failure.kind, FailureKind::Connect | FailureKind::Timeout))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Failure;
    use crate::difference::tests::answer;

    fn pod(name: &str) -> RequestOutcome {
        Ok(answer(200, &[("x-pod", name)]))
    }

    #[test]
    fn a_difference_that_stays_is_confirmed() {
        let rounds = [(pod("a"), pod("b")), (pod("a"), pod("b")), (pod("a"), pod("b"))];
        let verdict = judge(&rounds);
        assert_eq!((verdict.confirmed.len(), verdict.varies.len()), (1, 0));
    }

    #[test]
    fn a_backend_that_varies_by_itself_is_no_difference_of_the_controllers() {
        for second in [(pod("b"), pod("a")), (pod("a"), pod("a")), (pod("c"), pod("b"))] {
            let verdict = judge(&[(pod("a"), pod("b")), second]);
            assert_eq!((verdict.confirmed.len(), verdict.varies.as_slice()), (0, [Aspect::Header("x-pod".into())].as_slice()));
        }
    }

    #[test]
    fn silence_on_both_sides_says_nothing() {
        let failed = |kind| RequestOutcome::Err(Failure { kind, detail: String::new() });
        assert!(judge(&[(failed(FailureKind::Connect), failed(FailureKind::Connect))]).unreachable);
        assert!(!judge(&[(failed(FailureKind::Handshake), failed(FailureKind::Handshake))]).unreachable);
        assert!(!judge(&[(pod("a"), failed(FailureKind::Connect))]).unreachable);
    }
}
