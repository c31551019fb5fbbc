//! What is wrong with a job file, in plain words: the schema of a job tells what was expected where.

use albers_storage::spelling;
use serde_json::Value as Schema;
use toml::Value;

/// What is wrong at a place of a job file that could not be read.
pub(super) fn problem(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().and_then(|span| line_at(text, span.start));
    let Ok(table) = text.parse::<toml::Table>() else {
        return syntax(error.message());
    };
    let root = super::Job::schema_value();
    let mut found = Vec::new();
    // Words with reasons of their own are refused in words of their own.
    let judges_words = error.message().starts_with("unknown variant");
    Walk { root: &root, judges_words, found: &mut found }.value(
        &Value::Table(table),
        &root,
        &Place::default(),
    );
    let at_line = |own: &&Problem| line.is_some_and(|line| line.contains(&own.field));
    let own = found.iter().find(at_line).or(found.first());
    match (own, line.and_then(field_of)) {
        (Some(problem), _) => problem.words.clone(),
        // What a field says is of the right kind, and was refused in words of its own.
        (None, Some(field)) => format!("'{field}': {}", error.message()),
        (None, None) => error.message().to_owned(),
    }
}

/// What is wrong with a text that is no TOML at all.
fn syntax(message: &str) -> String {
    let message = message.lines().next().unwrap_or_default();
    match message.starts_with("invalid type: integer") {
        true => "a number is too large to be read".to_owned(),
        false => format!("this is not TOML ({message}): write NAME = VALUE, and texts in quotes"),
    }
}

fn line_at(text: &str, at: usize) -> Option<&str> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    text[start..].lines().next()
}

/// The field that a line sets.
fn field_of(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=')?;
    let key = key.trim().trim_matches('"');
    let is_plain = key.chars().all(|own| own.is_ascii_alphanumeric() || "-_.\"".contains(own));
    (is_plain && !key.is_empty()).then_some(key)
}

/// Something that is not as expected.
struct Problem {
    field: String,
    words: String,
}

/// Where something stands: the names of the tables around it, and its own.
#[derive(Clone, Default)]
struct Place(Vec<String>);

impl Place {
    fn of(&self, key: &str) -> Place {
        let mut place = self.clone();
        place.0.push(key.to_owned());
        place
    }

    fn field(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// The place in words: `'weight' of column 'age'`.
    fn words(&self) -> String {
        match self.0.as_slice() {
            [columns, column] if columns == "columns" => format!("column '{column}'"),
            [columns, column, field, ..] if columns == "columns" => {
                format!("'{field}' of column '{column}'")
            }
            path => format!("'{}'", path.join(".")),
        }
    }
}

struct Walk<'w> {
    root: &'w Schema,
    judges_words: bool,
    found: &'w mut Vec<Problem>,
}

impl Walk<'_> {
    fn refuse(&mut self, place: &Place, words: String) {
        self.found.push(Problem { field: place.field().to_owned(), words });
    }

    /// Compares a value with what is expected there.
    fn value(&mut self, value: &Value, schema: &Schema, place: &Place) {
        let schema = resolved(self.root, schema);
        let kinds = kinds_of(schema);
        let fits = kinds.is_empty() || kinds.iter().any(|kind| is_of(value, kind, schema));
        if !fits {
            let (place_words, wanted) = (place.words(), wanted(schema, &kinds));
            let words = format!("{place_words} must be {wanted}, not {}", shown(value));
            return self.refuse(place, words);
        }
        match value {
            Value::String(word) if self.judges_words => self.word(word, schema, place),
            Value::Table(table) => self.table(table, schema, place),
            Value::Array(values) => {
                let items = &schema["items"];
                values.iter().for_each(|value| self.value(value, items, place));
            }
            _ => {}
        }
    }

    /// Compares a word with those of a closed set.
    fn word(&mut self, word: &str, schema: &Schema, place: &Place) {
        let Some(words) = schema["enum"].as_array() else { return };
        let words: Vec<&str> = words.iter().filter_map(Schema::as_str).collect();
        if !words.contains(&word) {
            let question = spelling::question(word, words.iter().copied());
            let question = question.map(|own| format!("; {own}")).unwrap_or_default();
            let (place_words, words) = (place.words(), words.join(", "));
            let text = format!("{place_words} must be one of {words}, not '{word}'{question}");
            self.refuse(place, text);
        }
    }

    fn table(&mut self, table: &toml::Table, schema: &Schema, place: &Place) {
        let fields = schema["properties"].as_object();
        let names = || fields.into_iter().flat_map(|fields| fields.keys().map(String::as_str));
        for (key, value) in table {
            let own = place.of(key);
            match (&schema["properties"][key], &schema["additionalProperties"]) {
                (Schema::Object(field), _) => {
                    self.value(value, &Schema::Object(field.clone()), &own);
                }
                (_, Schema::Object(any)) => self.value(value, &Schema::Object(any.clone()), &own),
                _ => {
                    let of = match place.0.is_empty() {
                        true => String::new(),
                        false => format!(" of {}", place.words()),
                    };
                    let all = names().collect::<Vec<_>>().join(", ");
                    let hint = spelling::question(key, names())
                        .unwrap_or_else(|| format!("the fields are {all}"));
                    self.refuse(&own, format!("there is no field '{key}'{of}; {hint}"));
                }
            }
        }
        let required = schema["required"].as_array().into_iter().flatten();
        for field in required.filter_map(Schema::as_str).filter(|&own| !table.contains_key(own)) {
            self.refuse(place, format!("{} lacks the field '{field}'", place.words()));
        }
    }
}

/// The schema that a schema refers to.
fn resolved<'s>(root: &'s Schema, schema: &'s Schema) -> &'s Schema {
    let reference = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    reference.and_then(|path| root.pointer(path)).unwrap_or(schema)
}

/// The kinds of values that are expected.
fn kinds_of(schema: &Schema) -> Vec<&str> {
    let kinds = match &schema["type"] {
        Schema::String(kind) => vec![kind.as_str()],
        Schema::Array(kinds) => kinds.iter().filter_map(Schema::as_str).collect(),
        _ => Vec::new(),
    };
    kinds.into_iter().filter(|&kind| kind != "null").collect()
}

fn is_of(value: &Value, kind: &str, schema: &Schema) -> bool {
    match (kind, value) {
        ("integer", &Value::Integer(number)) => {
            let (least, most) = (&schema["minimum"], &schema["maximum"]);
            least.as_f64().is_none_or(|least| number as f64 >= least)
                && most.as_f64().is_none_or(|most| number as f64 <= most)
        }
        ("string", Value::String(text)) => {
            let most = schema["maxLength"].as_u64();
            most.is_none_or(|most| text.chars().count() as u64 == most)
        }
        ("number", Value::Integer(_) | Value::Float(_))
        | ("boolean", Value::Boolean(_))
        | ("array", Value::Array(_))
        | ("object", Value::Table(_)) => true,
        _ => false,
    }
}

/// What is expected, in words.
fn wanted(schema: &Schema, kinds: &[&str]) -> String {
    let words = |kind: &&str| match *kind {
        "integer" => match schema["maximum"].as_u64() {
            Some(most) => format!("a whole number from 0 to {most}"),
            None => "a whole number such as 5".to_owned(),
        },
        "number" => "a number such as 0.5".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" => "a list such as [\"a\", \"b\"]".to_owned(),
        "object" => "a table of fields".to_owned(),
        _ if schema["maxLength"].as_u64() == Some(1) => "one character in quotes".to_owned(),
        _ => "a text in quotes".to_owned(),
    };
    kinds.iter().map(words).collect::<Vec<_>>().join(" or ")
}

/// What stands there instead.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table of fields".to_owned(),
        Value::Datetime(_) => "a date".to_owned(),
        plain => plain.to_string(),
    }
}
