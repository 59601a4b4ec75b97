//! Server-sent events, as a client reads them (HTML Standard, 9.2.6).

/// A message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    /// Its id; empty where there is none.
    pub(crate) id: String,
    /// Its type; empty where there is none.
    pub(crate) event: String,
    /// Its lines.
    pub(crate) data: String,
}

/// Longest text without an end of a message.
const LONGEST: usize = 4 << 20;

/// Puts parts of an answer together.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    rest: Vec<u8>,
}

impl Reader {
    /// The messages that are complete with this part.
    ///
    /// # Errors
    /// A message has no end.
    pub(crate) fn messages(&mut self, part: &[u8]) -> anyhow::Result<Vec<Message>> {
        self.rest.extend_from_slice(part);
        let mut messages = Vec::new();
        while let Some(end) = self.rest.windows(2).position(|pair| pair == b"\n\n") {
            let whole: Vec<u8> = self.rest.drain(..end + 2).collect();
            messages.extend(message(&String::from_utf8_lossy(&whole)));
        }
        anyhow::ensure!(self.rest.len() <= LONGEST, "the controller sends a message without an end");
        Ok(messages)
    }
}

/// `None`: there are only comments, which keep the connection open.
fn message(text: &str) -> Option<Message> {
    let mut message = Message::default();
    let mut data = Vec::new();
    for line in text.lines() {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => message.id = value.to_owned(),
            "event" => message.event = value.to_owned(),
            "data" => data.push(value),
            _ => {}
        }
    }
    message.data = data.join("\n");
    (!data.is_empty()).then_some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_whole_whatever_parts_they_come_in() {
        let text = "id: 7\nevent: change\ndata: {\"a\":\ndata: 1}\n\n: still here\n\ndata:x\n\n";
        let expected = [
            Message { id: "7".into(), event: "change".into(), data: "{\"a\":\n1}".into() },
            Message { data: "x".into(), ..Message::default() },
        ];
        for size in [1, 3, 1000] {
            let mut reader = Reader::default();
            let found: Vec<Message> = text.as_bytes().chunks(size).flat_map(|part| reader.messages(part).unwrap()).collect();
            assert_eq!(found, expected, "{size}");
        }
    }

    #[test]
    fn a_message_without_an_end_is_an_error() {
        assert!(Reader::default().messages(&vec![b'x'; LONGEST + 1]).is_err());
    }
}
