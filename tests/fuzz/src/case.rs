//! How a target reads the fuzzer's bytes.

/// The size to which a part of the input is repeated.
const AMPLIFIED_BYTES: usize = 64 * 1024;

/// An input: a byte that selects a variant, and the content.
pub(crate) struct Case {
    /// For the target's own choices.
    pub(crate) choice: u8,
    /// What the target parses.
    pub(crate) content: Vec<u8>,
}

impl Case {
    /// Reads the fuzzer's bytes. The first one decides whether a part of the content is repeated up to 64 KiB: that
    /// shows a cost that grows faster than the input, which a small input hides.
    pub(crate) fn of(data: &[u8]) -> Option<Self> {
        let [form, choice, rest @ ..] = data else {
            return None;
        };
        let content = match form % 4 {
            0 => amplified(rest)?,
            _ => rest.to_vec(),
        };
        Some(Self {
            choice: *choice,
            content,
        })
    }

    /// The same, for targets that parse text.
    pub(crate) fn text(data: &[u8]) -> Option<(u8, String)> {
        let case = Self::of(data)?;
        Some((case.choice, String::from_utf8_lossy(&case.content).into_owned()))
    }
}

/// Two bytes say where the repeated part begins and how long it is.
fn amplified(rest: &[u8]) -> Option<Vec<u8>> {
    let [begin, length, content @ ..] = rest else {
        return None;
    };
    let begin = usize::from(*begin).min(content.len());
    let end = (begin + 1 + usize::from(*length)).min(content.len());
    let (before, after) = (&content[..begin], &content[end..]);
    let repeated = &content[begin..end];
    let times = AMPLIFIED_BYTES.checked_div(repeated.len())?;
    Some([before, &repeated.repeat(times), after].concat())
}
