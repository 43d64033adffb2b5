//! What Bidloop does, one file a use case.
