//! Users: who may enter, and as what? Owners invite people, change roles, make links for lost passwords and remove people.

use actix_web::{HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{EmailKey, LinkId, LinkKind, MemberRole, Person, Timestamp};
use bidloop_domain::port::OrganizationMember;
use bidloop_domain::use_case::{ListedMembers, MadeLink, NewInvitation, PeopleError};
use serde::Deserialize;

use super::password::PasswordFaults;
use crate::page::{PageError, go_to, html};
use crate::sheet::{self, Question};
use crate::shell::{Place, Setting, Shell};
use crate::visit::{self, Posted, Visit};

const PLACE: Place = Place::Settings(Setting::Users);
const TITLE: &str = "Users";
const PATH: &str = "/settings/users";

#[derive(Template)]
#[template(path = "users.html")]
struct UsersPage {
    shell: Shell,
    listed: ListedMembers,
    made: Option<ShownLink>,
    faults: PasswordFaults,
    is_owner: bool,
    person: EmailKey,
    now: Timestamp,
}

/// A link that was just made, to be shown this once.
struct ShownLink {
    made: MadeLink,
    url: String,
}

impl UsersPage {
    fn is_self(&self, member: &OrganizationMember) -> bool {
        member.person.key == self.person
    }
}

#[derive(Template, Default)]
#[template(path = "user_invite_form.html")]
struct InviteForm {
    csrf: String,
    email: String,
    name: String,
    is_owner: bool,
    email_fault: Option<String>,
    name_fault: Option<String>,
}

/// Whom a page is about.
#[derive(Debug, Deserialize)]
pub(crate) struct User {
    #[serde(default)]
    user: String,
}

/// `GET /settings/users`.
pub(crate) async fn list(visit: Visit) -> Result<HttpResponse, PageError> {
    show(&visit, None, PasswordFaults::default()).await
}

/// The page, with a link that was just made, or with what is wrong with the form of the password.
pub(super) async fn show(
    visit: &Visit,
    made: Option<MadeLink>,
    faults: PasswordFaults,
) -> Result<HttpResponse, PageError> {
    let listed = members(visit).await?;
    html(&UsersPage {
        shell: Shell::of(visit, PLACE, TITLE).await?,
        listed,
        made: made.map(|made| {
            let path = format!("/invite/{}", made.token.expose());
            let url = visit.console.address.url(&path);
            ShownLink { made, url }
        }),
        faults,
        is_owner: visit.member().is_owner(),
        person: visit.member().person.key.clone(),
        now: visit.now,
    })
}

/// The members and the invitations that are open.
pub(crate) async fn members(visit: &Visit) -> Result<ListedMembers, PageError> {
    let listed = visit.console.manage_members.list(visit.organization());
    Ok(visit.console.runtime.read(listed).await??)
}

/// `GET …/users/invite`.
pub(crate) async fn ask_invite(visit: Visit) -> Result<HttpResponse, PageError> {
    visit.require_owner()?;
    let form = InviteForm {
        csrf: visit.csrf.clone(),
        ..InviteForm::default()
    };
    invite_form(&visit, form).await
}

async fn invite_form(visit: &Visit, form: InviteForm) -> Result<HttpResponse, PageError> {
    sheet::show(visit, "Invite user", &form, Shell::of(visit, PLACE, TITLE)).await
}

/// `POST …/users/invite`: the answer shows the link, this once.
pub(crate) async fn invite(Posted { visit, fields }: Posted) -> Result<HttpResponse, PageError> {
    let (email, name) = (fields.text("email").to_owned(), fields.text("name").to_owned());
    let role = role_of(fields.text("role"))?;
    let (invitations, member) = (visit.console.invitations.clone(), visit.member().clone());
    let (typed_email, typed_name) = (email.clone(), name.clone());
    let made = visit.console.runtime.run(async move {
        let new = NewInvitation {
            email: &typed_email,
            name: &typed_name,
            role,
        };
        invitations.invite(&member, new).await
    });
    let mut form = InviteForm {
        csrf: visit.csrf.clone(),
        email,
        name,
        is_owner: role == MemberRole::Owner,
        email_fault: None,
        name_fault: None,
    };
    match made.await? {
        Ok(made) => return show(&visit, Some(made), PasswordFaults::default()).await,
        Err(PeopleError::Email(_)) => {
            form.email_fault = Some("Enter an address such as ops@example.com.".to_owned());
        }
        Err(PeopleError::AlreadyMember) => {
            form.email_fault = Some("This person is a member already.".to_owned());
        }
        Err(PeopleError::TooMany(most)) => {
            form.email_fault = Some(format!("There can be no more than {most}."));
        }
        Err(PeopleError::Name) => {
            form.name_fault = Some("Use at most 200 characters, on one line.".to_owned());
        }
        Err(error) => return Err(error.into()),
    }
    invite_form(&visit, form).await
}

/// `POST …/users/role`.
pub(crate) async fn set_role(Posted { visit, fields }: Posted) -> Result<HttpResponse, PageError> {
    let (person, role) = (EmailKey::of(fields.text("user")), role_of(fields.text("role"))?);
    let (manage, member) = (visit.console.manage_members.clone(), visit.member().clone());
    let set = visit
        .console
        .runtime
        .run(async move { manage.set_role(&member, &person, role).await });
    set.await??;
    Ok(go_to(&visit, "/settings/users?done=role"))
}

fn role_of(word: &str) -> Result<MemberRole, PageError> {
    word.parse()
        .map_err(|_| PageError::FormUnreadable("The role is neither owner nor member.".into()))
}

/// `GET …/users/remove?user=…`.
pub(crate) async fn ask_remove(visit: Visit, user: web::Query<User>) -> Result<HttpResponse, PageError> {
    let person = asked_about(&visit, &user).await?;
    let question = Question {
        asks: "Remove",
        text: format!(
            "{} is signed out at once, and cannot enter this organization any more. What the person did stays in \
             Activity.",
            person.email
        ),
        button: "Remove user",
        is_danger: true,
        action: "/settings/users/remove".to_owned(),
        fields: vec![("user", person.key.as_str().to_owned())],
        back: PATH.to_owned(),
        name: Some(person.name),
    };
    question.ask(&visit, Shell::of(&visit, PLACE, TITLE)).await
}

/// `GET …/users/reset?user=…`.
pub(crate) async fn ask_reset(visit: Visit, user: web::Query<User>) -> Result<HttpResponse, PageError> {
    let person = asked_about(&visit, &user).await?;
    let question = Question {
        asks: "Make a password link for",
        text: format!(
            "It is a link that works once, for three days. Whoever opens it sets another password for {}, and is \
             signed in.",
            person.email
        ),
        button: "Make password link",
        is_danger: false,
        action: "/settings/users/reset".to_owned(),
        fields: vec![("user", person.key.as_str().to_owned())],
        back: PATH.to_owned(),
        name: Some(person.name),
    };
    question.ask(&visit, Shell::of(&visit, PLACE, TITLE)).await
}

/// Whom an owner asks about.
async fn asked_about(visit: &Visit, user: &User) -> Result<Person, PageError> {
    visit.require_owner()?;
    let key = EmailKey::of(&user.user);
    let listed = members(visit).await?;
    let mut known = listed.members.into_iter().map(|member| member.person);
    known.find(|known| known.key == key).ok_or(PageError::NotFound)
}

/// `GET …/users/leave`.
pub(crate) async fn ask_leave(visit: Visit) -> Result<HttpResponse, PageError> {
    let question = Question {
        asks: "Leave this organization",
        name: None,
        text: "You are signed out. Only an owner can invite you back.".to_owned(),
        button: "Leave organization",
        is_danger: true,
        action: "/settings/users/leave".to_owned(),
        fields: Vec::new(),
        back: PATH.to_owned(),
    };
    question.ask(&visit, Shell::of(&visit, PLACE, TITLE)).await
}

/// `POST …/users/remove`.
pub(crate) async fn remove(Posted { visit, fields }: Posted) -> Result<HttpResponse, PageError> {
    let person = EmailKey::of(fields.text("user"));
    let (manage, member) = (visit.console.manage_members.clone(), visit.member().clone());
    let removed = visit
        .console
        .runtime
        .run(async move { manage.remove(&member, &person).await });
    removed.await??;
    Ok(go_to(&visit, "/settings/users?done=removed"))
}

/// `POST …/users/leave`: the session ends with the membership.
pub(crate) async fn leave(Posted { visit, .. }: Posted) -> Result<HttpResponse, PageError> {
    let (manage, member) = (visit.console.manage_members.clone(), visit.member().clone());
    let left = visit
        .console
        .runtime
        .run(async move { manage.leave(&member).await });
    left.await??;
    Ok(visit::signed_out(
        &visit.console.address,
        go_to(&visit, "/sign-in"),
    ))
}

/// `POST …/users/reset`: the answer shows the link, this once.
pub(crate) async fn reset(Posted { visit, fields }: Posted) -> Result<HttpResponse, PageError> {
    let person = EmailKey::of(fields.text("user"));
    let (invitations, member) = (visit.console.invitations.clone(), visit.member().clone());
    let made = visit
        .console
        .runtime
        .run(async move { invitations.reset(&member, &person).await });
    show(&visit, Some(made.await??), PasswordFaults::default()).await
}

/// `POST …/users/withdraw`. A link that is gone already is as wanted.
pub(crate) async fn withdraw(Posted { visit, fields }: Posted) -> Result<HttpResponse, PageError> {
    let link = LinkId::parse(fields.text("link")).map_err(|_| PageError::NotFound)?;
    let (invitations, member) = (visit.console.invitations.clone(), visit.member().clone());
    let withdrawn = visit
        .console
        .runtime
        .run(async move { invitations.withdraw(&member, &link).await });
    match withdrawn.await? {
        Ok(()) | Err(PeopleError::LinkOver) => Ok(go_to(&visit, "/settings/users?done=withdrawn")),
        Err(error) => Err(error.into()),
    }
}
