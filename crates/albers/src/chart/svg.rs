//! The document around every picture: its frame, its words, and its colours by light and by dark.
//!
//! A picture is light on paper and follows the reader's choice on a screen. Colours are plain
//! declarations in two style sheets rather than variables, which some programs that draw SVG do not
//! know. A picture has a title and a description, so that who cannot see it can have it read out.

/// What all pictures have in common.
const LIGHT: &str = "\
text{fill:#1d2733}.paper{fill:#fff}.quiet{fill:#5b6875}\
.title{font:600 14px system-ui,sans-serif}.words{font:12px system-ui,sans-serif}\
line{stroke:#c3ccd6;stroke-width:1}";

const DARK: &str = "\
text{fill:#e4e9ee}.paper{fill:#14181d}.quiet{fill:#9aa7b4}line{stroke:#3a444f}";

/// Rules that a kind of picture adds.
#[derive(Clone, Copy)]
pub(crate) struct Style<'a> {
    /// For everybody.
    pub(crate) light: &'a str,
    /// What is different on a dark screen.
    pub(crate) dark: &'a str,
}

/// A picture that is being drawn.
pub(crate) struct Document {
    title: String,
    description: String,
    style: String,
    body: String,
}

impl Document {
    /// An empty picture. The description is all that is shown, in words.
    pub(crate) fn new(title: &str, description: &str, style: Style<'_>) -> Document {
        let style = format!(
            "{LIGHT}{}@media screen and (prefers-color-scheme:dark){{{DARK}{}}}",
            style.light, style.dark
        );
        let (title, description) = (escaped(title), escaped(description));
        Document { title, description, style, body: String::new() }
    }

    /// Draws elements on top of what is there.
    pub(crate) fn push(&mut self, elements: &str) {
        self.body.push_str(elements);
        self.body.push('\n');
    }

    /// Draws a text; `attributes` are those besides its place.
    pub(crate) fn text(&mut self, x: f64, y: f64, attributes: &str, text: &str) {
        let text = escaped(text);
        self.push(&format!("<text {attributes} x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"));
    }

    /// The whole picture.
    pub(crate) fn finish(self, width: f64, height: f64) -> String {
        let Document { title, description, style, body } = self;
        let (width, height) = (width.ceil(), height.ceil());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{title}</title>\n\
             <desc>{description}</desc>\n<style>{style}</style>\n\
             <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n"
        )
    }
}

/// A text that can stand anywhere in the document.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A text in lines of at most so many characters, broken between words.
pub(crate) fn wrapped(text: &str, n_chars: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a first line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= n_chars {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_taken_for_an_element() {
        let mut document = Document::new("a < b & c", "\"d\"", Style { light: "", dark: "" });
        document.text(1.0, 2.0, "class=\"words\"", "<script>");
        let drawn = document.finish(10.2, 20.0);
        assert!(drawn.contains("<title>a &lt; b &amp; c</title>"));
        assert!(drawn.contains("<desc>&quot;d&quot;</desc>"));
        assert!(drawn.contains("&lt;script&gt;") && !drawn.contains("<script>"));
        assert!(drawn.contains("width=\"11\" height=\"20\""));
    }

    #[test]
    fn lines_break_between_words_and_long_words_stay_whole() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("extraordinary one", 5), ["extraordinary", "one"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
