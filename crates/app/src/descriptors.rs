//! The process's limit of open files and connections: what HTTP and the webhooks may take of it.

use bidloop_domain::use_case::MAX_IN_FLIGHT;
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
    (limit - reserve_of(limit)).clamp(1, MOST_CONNECTIONS)
}

/// How many webhooks may be in flight: two thirds of the reserve.
pub(crate) fn webhooks_within(limit: Option<usize>) -> u32 {
    let webhooks = reserve_of(limit.unwrap_or(usize::MAX)) * 2 / 3;
    u32::try_from(webhooks)
        .unwrap_or(u32::MAX)
        .clamp(1, MAX_IN_FLIGHT)
}

fn reserve_of(limit: usize) -> usize {
    RESERVE.min(limit / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_a_reserve_of_descriptors_and_webhooks_fit_into_it() {
        for (limit, connections, webhooks) in [
            (Some(256), 128, 85),
            (Some(1_024), 512, 341),
            (Some(4_096), 2_560, MAX_IN_FLIGHT),
            (Some(1_048_576), MOST_CONNECTIONS, MAX_IN_FLIGHT),
            (None, MOST_CONNECTIONS, MAX_IN_FLIGHT),
            (Some(0), 1, 1),
        ] {
            assert_eq!(connections_within(limit), connections, "{limit:?}");
            assert_eq!(webhooks_within(limit), webhooks, "{limit:?}");
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
