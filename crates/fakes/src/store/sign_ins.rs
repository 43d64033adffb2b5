//! [`SignInTryStore`] and [`FirstRunStore`] in memory.

use async_trait::async_trait;
use bidloop_domain::model::MemberRole;
use bidloop_domain::model::{FirstRunCodeHash, Timestamp, Tries, TrySubject};
use bidloop_domain::port::{
    CreateFirst, FIRST_RUN_CODES, FirstOrganization, FirstRunCodeState, FirstRunStore, SignInTryStore,
    StoreError, UserRecord,
};

use super::{MemoryStore, State, length};

#[async_trait]
impl SignInTryStore for MemoryStore {
    async fn count_try(
        &self,
        subjects: &[TrySubject],
        now: Timestamp,
    ) -> Result<Result<Tries, Timestamp>, StoreError> {
        let mut state = self.state()?;
        let tries = |subject: &TrySubject| state.tries.get(subject).copied().unwrap_or(Tries::none(now));
        let counted: Vec<_> = subjects
            .iter()
            .map(|subject| tries(subject).counted(now))
            .collect();
        if let Some(until) = counted.iter().filter_map(|counted| counted.err()).max() {
            return Ok(Err(until));
        }
        let mut least = Tries::none(now);
        for (subject, tries) in subjects.iter().zip(counted.into_iter().flatten()) {
            state.tries.insert(subject.clone(), tries);
            if tries.failures > least.failures {
                least = tries;
            }
        }
        Ok(Ok(least))
    }

    async fn end_try(
        &self,
        cleared: &[TrySubject],
        given_back: &[TrySubject],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut state = self.state()?;
        for subject in cleared {
            state.tries.remove(subject);
        }
        for subject in given_back {
            if let Some(tries) = state.tries.get_mut(subject) {
                *tries = tries.given_back(now);
            }
        }
        state.tries.retain(|_, tries| tries.failures > 0);
        Ok(())
    }
}

#[async_trait]
impl FirstRunStore for MemoryStore {
    async fn has_no_people(&self) -> Result<bool, StoreError> {
        Ok(self.state()?.people.people.is_empty())
    }

    async fn put_first_run_code(&self, code: &FirstRunCodeHash, at: Timestamp) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        if !state.people.people.is_empty() {
            return Ok(false);
        }
        if let Some((_, replaced_at)) = state.first_run_codes.last_mut() {
            *replaced_at = Some(at);
        }
        state.first_run_codes.retain(|(known, _)| known != code);
        state.first_run_codes.push((code.clone(), None));
        let beyond = state
            .first_run_codes
            .len()
            .saturating_sub(length(FIRST_RUN_CODES));
        state.first_run_codes.drain(..beyond);
        Ok(true)
    }

    async fn first_run_code(&self, code: &FirstRunCodeHash) -> Result<FirstRunCodeState, StoreError> {
        Ok(self.state()?.code_state(code))
    }

    async fn create_first(&self, first: &FirstOrganization) -> Result<CreateFirst, StoreError> {
        let mut state = self.state()?;
        match state.code_state(&first.code) {
            FirstRunCodeState::Current => {}
            refused => return Ok(CreateFirst::Refused(refused)),
        }
        let is_being_erased = state.removed_organizations.iter().any(|(id, _)| *id == first.id);
        if is_being_erased || state.organizations.contains_key(&first.id) {
            return Ok(CreateFirst::IdTaken);
        }
        state.revision += 1;
        state.first_run_codes.clear();
        state.put_organization(&first.id, &first.name, &first.subscription);
        let owner = UserRecord {
            email: first.owner.email.clone(),
            name: first.owner.name.clone(),
            password_hash: Some(first.password_hash.clone()),
            role: MemberRole::Owner,
        };
        state.put_user(&first.id, &owner);
        state.open_session(&first.session);
        state.record_activity(&first.activity);
        Ok(CreateFirst::Created)
    }
}

impl State {
    fn code_state(&self, code: &FirstRunCodeHash) -> FirstRunCodeState {
        if !self.people.people.is_empty() {
            return FirstRunCodeState::Over;
        }
        match self.first_run_codes.iter().find(|(known, _)| known == code) {
            Some((_, None)) => FirstRunCodeState::Current,
            Some((_, Some(replaced_at))) => FirstRunCodeState::Replaced(*replaced_at),
            None => FirstRunCodeState::Unknown,
        }
    }
}
