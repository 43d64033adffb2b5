//! A marketplace to run against: the protocol, its control calls, and a generator of job posts.
