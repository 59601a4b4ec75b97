use super::*;
use crate::fake::Bed;

#[tokio::test(start_paused = true)]
async fn requests_at_one_time_share_a_reload_and_later_ones_get_another() {
    let bed = Bed::started(1).await;
    let ask = |bed: &Bed| {
        let requests = bed.handle.requests.clone();
        tokio::spawn(async move { requests.reload().await })
    };
    let first: Vec<_> = (0..50).map(|_| ask(&bed)).collect();
    while bed.calls().len() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // It is under way: these are about a later time.
    let second: Vec<_> = (0..50).map(|_| ask(&bed)).collect();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(bed.calls(), ["apply", "reload"]);
    bed.fake.permits.add_permits(2);
    for (waiting, revision) in [(first, "2"), (second, "3")] {
        for answer in waiting {
            let answer = answer.await.unwrap();
            assert_eq!((answer.result.clone().unwrap().as_str(), answer.serving.as_str()), (revision, revision));
            assert_eq!(answer.reasons, ["asked"]);
        }
    }
    assert_eq!(bed.calls(), ["apply", "reload", "reload"]);
    assert_eq!(bed.counted("asked", "success"), 2.0);
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_for_goes_with_what_is_pending_and_knows_what_was_there_before() {
    let bed = Bed::started(9).await;
    bed.publish("false");
    let answer = bed.handle.requests.reload().await;
    assert_eq!(answer.reasons, ["asked", "globals"]);
    assert_eq!((bed.calls(), bed.counted("globals", "success")), (vec!["apply", "reload"], 1.0));
    assert_eq!(bed.handle.requests.last().unwrap().run, 2);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_an_answer_and_quarantines_nothing() {
    let bed = Bed::started(9).await;
    bed.fake.world().refuses = Some(ApplyError::Refused { message: "no such file".into(), culprit: None });
    let answer = bed.handle.requests.reload().await;
    assert!(matches!(&answer.result, Err(ApplyError::Refused { message, .. }) if message == "no such file"), "{answer:?}");
    assert_eq!((answer.serving.as_str(), answer.quarantined.len()), ("1", 0));
    // It is not tried again by itself: what runs is the wanted text.
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((bed.calls().len(), bed.counted("asked", "failure")), (2, 1.0));
    assert_eq!(bed.handle.requests.reload().await.result.clone().unwrap(), "3");
}

#[tokio::test(start_paused = true)]
async fn before_the_source_is_complete_a_request_waits_for_the_first_start() {
    let bed = Bed::new(9);
    let requests = bed.handle.requests.clone();
    let waiting = tokio::spawn(async move { requests.reload().await });
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(bed.calls().is_empty() && !waiting.is_finished());
    bed.publish("true");
    assert_eq!(waiting.await.unwrap().reasons, ["asked", "start"]);
    assert_eq!(bed.calls(), ["reload"]);
}
