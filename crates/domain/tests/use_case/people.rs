//! The use cases of people over one set of fakes.

use std::net::IpAddr;
use std::sync::Arc;

use bidloop_domain::model::{MemberRole, NetworkOrigin, Secret};
use bidloop_domain::port::{PasswordHasher as _, ProvisioningChange};
use bidloop_domain::use_case::{FirstRun, Sessions, SignIn, Throttle};
use bidloop_fakes::PlainPasswordHasher;
use bidloop_port_contracts::fixture::{commit, organization, user};

use crate::service::Service;

pub(crate) const ANN: &str = "ann@acme.test";
pub(crate) const PASSWORD: &str = "correct horse";

/// A service in which somebody may sign in.
pub(crate) struct Console {
    pub(crate) service: Service,
    pub(crate) passwords: Arc<PlainPasswordHasher>,
}

/// Where a test's requests come from.
pub(crate) fn network(last: u8) -> NetworkOrigin {
    NetworkOrigin::of(IpAddr::from([203, 0, 113, last]))
}

impl Console {
    /// With nobody.
    pub(crate) async fn empty() -> Self {
        Self {
            service: Service::new().await,
            passwords: Arc::default(),
        }
    }

    /// With Ann, who owns `org_one` and is a member of `org_two`.
    pub(crate) async fn with_ann() -> Self {
        let console = Self::empty().await;
        for (id, role) in [("org_one", MemberRole::Owner), ("org_two", MemberRole::Member)] {
            let id = organization(id).provision(&console.service.stores).await;
            let mut ann = user(ANN, role);
            let hash = "0$correct horse".to_owned();
            assert_eq!(console.passwords.verify(PASSWORD, Some(&hash)).await, Ok(true));
            ann.password_hash = Some(Secret::new(hash));
            commit(&console.service.stores, &[ProvisioningChange::PutUser(id, ann)]).await;
        }
        console
    }

    fn throttle(&self) -> Throttle {
        Throttle {
            tries: self.service.stores.sign_in_tries.clone(),
            passwords: self.passwords.clone(),
            clock: self.service.clock.clone(),
        }
    }

    pub(crate) fn sign_in(&self) -> SignIn {
        SignIn {
            people: self.service.stores.people.clone(),
            sessions: self.service.stores.sessions.clone(),
            throttle: self.throttle(),
            entropy: self.service.entropy.clone(),
        }
    }

    pub(crate) fn sessions(&self) -> Sessions {
        Sessions {
            sessions: self.service.stores.sessions.clone(),
            clock: self.service.clock.clone(),
        }
    }

    pub(crate) fn first_run(&self) -> FirstRun {
        FirstRun {
            store: self.service.stores.first_run.clone(),
            throttle: self.throttle(),
            entropy: self.service.entropy.clone(),
        }
    }
}
