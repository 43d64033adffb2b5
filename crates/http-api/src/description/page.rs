//! The page at `/docs`: what it shows of the document, and its template.

use askama::Template;
use serde_json::Value;

use super::markdown::to_html;
use super::schema_view::{Field, Schema, kind, list};

/// Renders the page.
pub(super) fn render(document: &Value) -> askama::Result<String> {
    Page::of(document).render()
}

#[derive(Debug, Template)]
#[template(path = "docs.html")]
struct Page<'d> {
    title: &'d str,
    version: &'d str,
    server: &'d str,
    /// HTML.
    introduction: String,
    groups: Vec<Group<'d>>,
    schemas: Vec<Schema>,
}

/// The operations with a tag.
#[derive(Debug)]
struct Group<'d> {
    name: &'d str,
    /// HTML.
    description: String,
    operations: Vec<Operation<'d>>,
}

#[derive(Debug)]
struct Operation<'d> {
    id: &'d str,
    method: String,
    /// A path, or the name of an event.
    address: &'d str,
    summary: &'d str,
    /// HTML.
    description: String,
    parameters: Vec<Parameter<'d>>,
    body: Option<Body>,
    responses: Vec<Response<'d>>,
}

#[derive(Debug)]
struct Parameter<'d> {
    place: &'d str,
    field: Field,
}

/// The content of a request or an answer.
#[derive(Debug)]
struct Body {
    /// HTML.
    description: String,
    media_type: String,
    /// HTML.
    kind: String,
    examples: Vec<Example>,
}

#[derive(Debug)]
struct Example {
    summary: String,
    value: String,
}

#[derive(Debug)]
struct Response<'d> {
    status: &'d str,
    /// HTML.
    description: String,
    headers: Vec<Field>,
    body: Option<Body>,
}

impl<'d> Page<'d> {
    fn of(document: &'d Value) -> Self {
        let reader = Reader { document };
        let group = |tag: &'d Value| {
            let name = text(&tag["name"]);
            Group {
                name,
                description: html(tag),
                operations: reader.operations_with(name),
            }
        };
        let schemas = document["components"]["schemas"].as_object();
        Self {
            title: text(&document["info"]["title"]),
            version: text(&document["info"]["version"]),
            server: text(&document["servers"][0]["url"]),
            introduction: html(&document["info"]),
            groups: list(&document["tags"]).map(group).collect(),
            schemas: schemas
                .into_iter()
                .flatten()
                .map(|(name, schema)| Schema::new(name, schema))
                .collect(),
        }
    }
}

#[derive(Clone, Copy)]
struct Reader<'d> {
    document: &'d Value,
}

impl<'d> Reader<'d> {
    /// Follows a reference.
    fn resolved(self, value: &'d Value) -> &'d Value {
        let pointer = value["$ref"]
            .as_str()
            .and_then(|reference| reference.strip_prefix('#'));
        pointer
            .and_then(|pointer| self.document.pointer(pointer))
            .unwrap_or(value)
    }

    fn operations_with(self, tag: &str) -> Vec<Operation<'d>> {
        let mut found = Vec::new();
        for section in ["paths", "webhooks"] {
            for (address, item) in members(&self.document[section]) {
                for (method, operation) in members(item) {
                    if list(&operation["tags"]).any(|name| name == tag) {
                        found.push(self.operation(address, method, item, operation));
                    }
                }
            }
        }
        found
    }

    fn operation(
        self,
        address: &'d str,
        method: &str,
        item: &'d Value,
        operation: &'d Value,
    ) -> Operation<'d> {
        let parameters = list(&item["parameters"]).chain(list(&operation["parameters"]));
        Operation {
            id: text(&operation["operationId"]),
            method: method.to_uppercase(),
            address,
            summary: text(&operation["summary"]),
            description: html(operation),
            parameters: parameters.map(|parameter| self.parameter(parameter)).collect(),
            body: Body::of(&operation["requestBody"]),
            responses: members(&operation["responses"])
                .map(|(status, response)| self.response(status, self.resolved(response)))
                .collect(),
        }
    }

    fn parameter(self, parameter: &'d Value) -> Parameter<'d> {
        let parameter = self.resolved(parameter);
        let is_required = parameter["required"] == true;
        let name = text(&parameter["name"]);
        Parameter {
            place: text(&parameter["in"]),
            field: Field::new(name, &parameter["schema"], parameter, is_required),
        }
    }

    fn response(self, status: &'d str, response: &'d Value) -> Response<'d> {
        let header = |(name, header): (&'d str, &'d Value)| {
            let header = self.resolved(header);
            Field::new(name, &header["schema"], header, false)
        };
        Response {
            status,
            description: html(response),
            headers: members(&response["headers"]).map(header).collect(),
            body: Body::of(response),
        }
    }
}

impl Body {
    fn of(described: &Value) -> Option<Self> {
        let (media_type, content) = members(&described["content"]).next()?;
        let example = |(_, example): (&str, &Value)| Example {
            summary: text(&example["summary"]).to_owned(),
            value: format!("{:#}", example["value"]),
        };
        Some(Self {
            description: html(described),
            media_type: media_type.to_owned(),
            kind: kind(&content["schema"]),
            examples: members(&content["examples"]).map(example).collect(),
        })
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members = value.as_object().into_iter().flatten();
    members.map(|(name, value)| (name.as_str(), value))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn html(described: &Value) -> String {
    to_html(text(&described["description"]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::openapi;

    /// The values of an attribute.
    fn values<'p>(page: &'p str, attribute: &str) -> Vec<&'p str> {
        let opening = format!(" {attribute}=\"");
        let parts = page.split(opening.as_str()).skip(1);
        parts.filter_map(|part| part.split('"').next()).collect()
    }

    #[test]
    fn the_page_has_an_anchor_for_each_operation_schema_and_answer_and_no_dead_link() {
        let document = openapi();
        let page = render(&document).unwrap();
        let anchors = values(&page, "id");
        let unique: BTreeSet<&str> = anchors.iter().copied().collect();
        assert_eq!(unique.len(), anchors.len(), "an id is there once");
        for link in values(&page, "href") {
            if let Some(anchor) = link.strip_prefix('#') {
                assert!(unique.contains(anchor), "{link}");
            }
        }
        for name in document["components"]["schemas"].as_object().unwrap().keys() {
            assert!(unique.contains(format!("schema-{name}").as_str()), "{name}");
        }
        for section in ["paths", "webhooks"] {
            for (_, item) in members(&document[section]) {
                for (_, operation) in members(item).filter(|(method, _)| *method != "parameters") {
                    let id = operation["operationId"].as_str().unwrap();
                    assert!(unique.contains(id), "{id}");
                    for (status, _) in members(&operation["responses"]) {
                        assert!(
                            unique.contains(format!("{id}-{status}").as_str()),
                            "{id} {status}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_page_shows_every_example_that_is_described() {
        let document = openapi();
        let page = render(&document).unwrap();
        let mut rest = vec![
            &document["paths"],
            &document["webhooks"],
            &document["components"]["responses"],
        ];
        let mut examples = 0;
        while let Some(value) = rest.pop() {
            for (_, content) in members(&value["content"]) {
                for (name, example) in members(&content["examples"]) {
                    let summary = format!(
                        "<summary>{}</summary>",
                        text(&example["summary"]).replace('\'', "&#39;")
                    );
                    assert!(page.contains(&summary), "{name}: {summary}");
                    examples += 1;
                }
            }
            rest.extend(members(value).map(|(_, member)| member));
        }
        assert!(examples > 40, "{examples}");
    }

    #[test]
    fn names_and_values_are_escaped() {
        let mut document = openapi();
        document["info"]["title"] = "<script>".into();
        let page = render(&document).unwrap();
        assert!(!page.contains("<script"));
    }
}
