//! List activity: the Activity record, newest first (decision C8; contract section 1, `bidloop activity`).

use std::sync::Arc;

use crate::model::{Activity, ActivityQuery};
use crate::port::{ActivityStore, StoreError};

/// The default number of listed entries.
pub const DEFAULT_ACTIVITY_LIMIT: u32 = 100;

/// Lists entries of the Activity record.
#[derive(Debug)]
pub struct ListActivity {
    /// The Activity record.
    pub activities: Arc<dyn ActivityStore>,
}

impl ListActivity {
    /// The entries that match, newest first. The JSON of an entry is a line of the command's output. An id without entries
    /// gives none.
    pub async fn execute(&self, query: &ActivityQuery) -> Result<Vec<Activity>, StoreError> {
        if query.limit == 0 {
            return Ok(Vec::new());
        }
        self.activities.list(query).await
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use futures::executor::block_on;

    use super::*;
    use crate::model::{ActivityId, ActivityPlace, ActivitySearch, FoundActivities, OrganizationId};

    /// A store that is not available.
    #[derive(Debug)]
    struct Away;

    #[async_trait]
    impl ActivityStore for Away {
        async fn record(&self, _: &Activity) -> Result<(), StoreError> {
            Ok(())
        }

        async fn list(&self, _: &ActivityQuery) -> Result<Vec<Activity>, StoreError> {
            Err(StoreError::Unavailable("away".to_owned()))
        }

        async fn behind(&self, _: &ActivityQuery, _: ActivityPlace) -> Result<Vec<Activity>, StoreError> {
            Err(StoreError::Unavailable("away".to_owned()))
        }

        async fn search(
            &self,
            _: &ActivitySearch,
            _: Option<ActivityPlace>,
            _: u32,
        ) -> Result<FoundActivities, StoreError> {
            Err(StoreError::Unavailable("away".to_owned()))
        }

        async fn newer(&self, _: &ActivitySearch, _: ActivityPlace, _: u32) -> Result<u64, StoreError> {
            Err(StoreError::Unavailable("away".to_owned()))
        }

        async fn find(&self, _: &OrganizationId, _: ActivityId) -> Result<Option<Activity>, StoreError> {
            Err(StoreError::Unavailable("away".to_owned()))
        }
    }

    #[test]
    fn asking_for_no_entry_needs_no_store() {
        let list = ListActivity {
            activities: Arc::new(Away),
        };
        assert_eq!(block_on(list.execute(&ActivityQuery::default())), Ok(Vec::new()));
        let one = ActivityQuery {
            limit: 1,
            ..ActivityQuery::default()
        };
        assert!(block_on(list.execute(&one)).is_err());
    }
}
