//! The own password, on the page of users.

use actix_web::{HttpRequest, HttpResponse};
use bidloop_domain::use_case::{PeopleError, TryError};

use super::users;
use crate::page::{PageError, go_to};
use crate::pages::sign_in;
use crate::visit::{Posted, Visit};
use crate::words;

/// What is wrong with the form of the password.
#[derive(Debug, Default)]
pub(crate) struct PasswordFaults {
    pub(crate) present: Option<String>,
    pub(crate) new: Option<String>,
}

/// `POST /settings/users/password`.
pub(crate) async fn change(
    request: HttpRequest,
    Posted { visit, fields }: Posted,
) -> Result<HttpResponse, PageError> {
    let network = sign_in::network_of(&request);
    let (change, signed_in) = (visit.console.change_password.clone(), visit.signed_in.clone());
    let changed = visit.console.runtime.run(async move {
        let (present, new) = (fields.text("present"), fields.text("new"));
        change.execute(&signed_in, present, new, network).await
    });
    match changed.await? {
        Ok(()) => Ok(go_to(&visit, "/settings/users?done=password")),
        Err(error) => refused(&visit, error).await,
    }
}

async fn refused(visit: &Visit, error: PeopleError) -> Result<HttpResponse, PageError> {
    let mut faults = PasswordFaults::default();
    match error {
        PeopleError::Password(fault) => {
            faults.new = Some(words::sentence(&format!("the password {fault}")));
        }
        PeopleError::Try(error @ (TryError::Wrong { .. } | TryError::Wait { .. } | TryError::Busy(_))) => {
            faults.present = Some(sign_in::fault(error, "That is not your present password.")?);
        }
        error => return Err(error.into()),
    }
    users::show(visit, None, faults).await
}
