//! Cover letters and answers of automatic campaigns, written from Jinja templates.
