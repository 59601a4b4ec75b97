//! An error in one line.

use std::error::Error;

/// The error and its causes in one line. kube prints most causes itself: what is already said is not repeated.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = words(error);
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = words(error);
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// The text of an error by itself. kube prints an answer of the API server as the structure that it is.
fn words(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref() {
        Some(kube::Error::Api(status)) => format!("{} (status {})", status.message, status.code),
        _ => error.to_string(),
    }
}
