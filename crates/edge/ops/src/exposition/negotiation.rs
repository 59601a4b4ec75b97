//! The form that a scraper prefers, by the header `Accept`.

/// A form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Prometheus' text format.
    Text,
    /// The text of OpenMetrics 1.0, which has exemplars.
    OpenMetrics,
    /// Messages `io.prometheus.client.MetricFamily`, each behind its length.
    Protobuf,
}

impl Form {
    /// The value of `Content-Type`.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Text => prometheus::TEXT_FORMAT,
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Protobuf => "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
        }
    }
}

/// The form of the best range that names one of ours; of equal ones the first. Text where none does.
pub(crate) fn preferred(accept: &str) -> Form {
    let mut best = (0.0, Form::Text);
    for range in accept.split(',') {
        if let Some((quality, form)) = read(range).filter(|(quality, _)| *quality > best.0) {
            best = (quality, form);
        }
    }
    best.1
}

/// A range with its quality, if it names a form.
fn read(range: &str) -> Option<(f64, Form)> {
    let mut parts = range.split(';').map(str::trim);
    let kind = parts.next()?.to_ascii_lowercase();
    let parameters: Vec<(String, &str)> =
        parts.filter_map(|part| part.split_once('=')).map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim())).collect();
    let parameter = |wanted: &str| parameters.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.trim_matches('"'));
    let form = match kind.as_str() {
        "application/vnd.google.protobuf" => {
            let is_ours = parameter("proto") == Some("io.prometheus.client.MetricFamily") && parameter("encoding") == Some("delimited");
            is_ours.then_some(Form::Protobuf)
        }
        "application/openmetrics-text" => matches!(parameter("version"), None | Some("1.0.0")).then_some(Form::OpenMetrics),
        "text/plain" | "text/*" | "*/*" => Some(Form::Text),
        _ => None,
    };
    Some((parameter("q").map_or(Some(1.0), |quality| quality.parse().ok())?, form?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_the_highest_quality_is_answered() {
        let protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
        let openmetrics = "application/openmetrics-text;version=1.0.0";
        for (accept, expected) in [
            // Prometheus 2.53 with and without native histograms, and 3.
            (
                format!(
                    "{protobuf};q=0.6,{openmetrics};q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
                ),
                Form::Protobuf,
            ),
            (
                format!("{openmetrics};q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"),
                Form::OpenMetrics,
            ),
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=1.0.0;q=0.4,*/*;q=0.2".to_owned(),
                Form::OpenMetrics,
            ),
            (protobuf.to_owned(), Form::Protobuf),
            (format!("text/plain;q=0.9, {protobuf};q=0.1"), Form::Text),
            (format!("text/plain, {openmetrics};q=0.9"), Form::Text),
            (format!("{openmetrics};q=0, text/plain;q=0.1"), Form::Text),
            (format!("{protobuf};q=0"), Form::Text),
            ("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text".to_owned(), Form::Text),
            ("application/openmetrics-text; version=\"1.0.0\"; charset=utf-8".to_owned(), Form::OpenMetrics),
            ("application/openmetrics-text".to_owned(), Form::OpenMetrics),
            ("application/openmetrics-text;version=0.0.1,*/*;q=0.1".to_owned(), Form::Text),
            ("*/*".to_owned(), Form::Text),
            (String::new(), Form::Text),
            (";;,=,q".to_owned(), Form::Text),
        ] {
            assert_eq!(preferred(&accept), expected, "{accept}");
        }
    }
}
