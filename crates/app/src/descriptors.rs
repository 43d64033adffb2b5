//! The process's limit of open files and connections, and what is left of it for HTTP.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most connections that the program takes by itself. Beyond it their buffers would take a gigabyte.
const MOST_CONNECTIONS: usize = 10_000;

/// Descriptors for everything but HTTP: 1,024 webhooks, 64 calls of the marketplace, databases, staged files, and the
/// program's own.
const RESERVE: usize = 1_536;

/// Raises the soft limit of descriptors to the hard one, and returns it; `None` if there is none. A failure is no reason
/// not to start: the number of connections follows the limit.
pub(crate) fn raise_limit() -> Option<usize> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let in_force = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(error) => {
            tracing::warn!(%error, "the limit of open files cannot be raised");
            limit.current
        }
    };
    in_force.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// How many connections fit beside the reserve. Where the limit is small, half of it is the reserve.
pub(crate) fn connections_within(limit: Option<usize>) -> usize {
    let limit = limit.unwrap_or(usize::MAX);
    let reserve = RESERVE.min(limit / 2);
    (limit - reserve).clamp(1, MOST_CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_a_reserve_of_descriptors() {
        for (limit, connections) in [
            (Some(256), 128),
            (Some(1_024), 512),
            (Some(4_096), 2_560),
            (Some(1_048_576), MOST_CONNECTIONS),
            (None, MOST_CONNECTIONS),
            (Some(0), 1),
        ] {
            assert_eq!(connections_within(limit), connections, "{limit:?}");
        }
    }

    #[test]
    fn the_limit_is_raised_as_far_as_the_process_may() {
        let raised = raise_limit();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
        assert_eq!(raised, limit.maximum.map(|limit| usize::try_from(limit).unwrap()));
    }
}
