//! The use cases of people over one set of fakes.

use std::net::IpAddr;
use std::sync::Arc;

use bidloop_domain::model::{ActivityKind, EmailKey, Member, MemberRole, NetworkOrigin, Secret};
use bidloop_domain::port::{PasswordHasher as _, ProvisioningChange};
use bidloop_domain::use_case::{
    AuthenticatePersonalToken, ChangePassword, FirstRun, Invitations, ManageMembers, ManagePersonalTokens,
    PeopleCommits, Sessions, SignIn, SignedIn, Throttle, UseLink,
};
use bidloop_fakes::PlainPasswordHasher;
use bidloop_port_contracts::fixture::{activities, commit, organization, organization_id, user};

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

    fn commits(&self) -> PeopleCommits {
        PeopleCommits {
            people: self.service.stores.people.clone(),
            clock: self.service.clock.clone(),
            entropy: self.service.entropy.clone(),
        }
    }

    pub(crate) fn change_password(&self) -> ChangePassword {
        ChangePassword {
            commits: self.commits(),
            throttle: self.throttle(),
        }
    }

    pub(crate) fn members(&self) -> ManageMembers {
        ManageMembers {
            commits: self.commits(),
        }
    }

    pub(crate) fn invitations(&self) -> Invitations {
        Invitations {
            commits: self.commits(),
            mailer: None,
        }
    }

    pub(crate) fn tokens(&self) -> ManagePersonalTokens {
        ManagePersonalTokens {
            commits: self.commits(),
        }
    }

    pub(crate) fn authenticate_token(&self) -> AuthenticatePersonalToken {
        AuthenticatePersonalToken {
            people: self.service.stores.people.clone(),
            clock: self.service.clock.clone(),
        }
    }

    pub(crate) fn use_link(&self) -> UseLink {
        UseLink {
            commits: self.commits(),
            throttle: self.throttle(),
        }
    }

    /// Makes somebody a user as provisioning does, with [`PASSWORD`] or without one.
    pub(crate) async fn put(&self, organization: &str, email: &str, role: MemberRole, has_password: bool) {
        let mut new = user(email, role);
        new.password_hash = has_password.then(|| Secret::new(format!("0${PASSWORD}")));
        let id = organization_id(organization);
        commit(&self.service.stores, &[ProvisioningChange::PutUser(id, new)]).await;
    }

    /// Signs a person in with [`PASSWORD`].
    pub(crate) async fn signed_in(&self, email: &str) -> SignedIn {
        let token = self.sign_in().execute(email, PASSWORD, network(9)).await.unwrap();
        self.sessions().current(token.expose()).await.unwrap().unwrap()
    }

    /// The person as a member of an organization.
    pub(crate) async fn member(&self, organization: &str, email: &str) -> Member {
        let signed_in = self.signed_in(email).await;
        let id = organization_id(organization);
        assert_eq!(self.sessions().switch(&signed_in, &id).await, Ok(true));
        let hash = &signed_in.session;
        let found = self.service.stores.sessions.session(hash).await;
        found.unwrap().unwrap().member
    }

    /// Whether a session lives.
    pub(crate) async fn lives(&self, signed_in: &SignedIn) -> bool {
        let found = self.service.stores.sessions.session(&signed_in.session).await;
        found.unwrap().is_some()
    }

    /// What was recorded last in the organization: actor, sentence, and the details as text.
    pub(crate) async fn recorded(&self, organization: &str) -> (String, String, String) {
        let id = organization_id(organization);
        let entry = activities(&self.service.stores, &id).await.remove(0);
        assert_eq!(entry.kind, ActivityKind::Change);
        let details = serde_json::to_string(&entry.details).unwrap();
        (entry.actor.name.unwrap_or_default(), entry.message, details)
    }
}

pub(crate) fn key(email: &str) -> EmailKey {
    EmailKey::of(email)
}
