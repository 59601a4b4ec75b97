//! A writer of SVG: shapes and text of a few classes, whose colours follow the reader's light or dark scheme.

use std::fmt::{Display, Write};

/// Colours of both schemes, and the classes of shapes and text. The background is part of the picture: a page may have another scheme than the system.
const STYLE: &str = "
    svg { --back: #ffffff; --fore: #1d2733; --quiet: #5b6875; --grid: #e1e7ec; --own: #0b6bcb; --plain: #8a96a3; --peer: #c9620a; }
    @media (prefers-color-scheme: dark) {
      svg { --back: #12181f; --fore: #d3dbe3; --quiet: #9aa8b5; --grid: #2a3642; --own: #5aaeff; --plain: #7d8b99; --peer: #f29a4a; }
    }
    text { font: 13px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif; fill: var(--fore); }
    text.head { font-size: 15px; font-weight: 600; }
    text.quiet { fill: var(--quiet); font-size: 12px; }
    .back { fill: var(--back); }
    .grid { stroke: var(--grid); stroke-width: 1; }
    .own { fill: var(--own); stroke: var(--own); }
    .plain { fill: var(--plain); stroke: var(--plain); }
    .peer { fill: var(--peer); stroke: var(--peer); }
    .open { fill: var(--back); stroke-width: 2; }
    .range { stroke-width: 3; }
    rect { stroke: none; }
";

/// Where text stands from its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Right of it.
    Start,
    /// On both sides.
    Middle,
    /// Left of it.
    End,
}

/// A picture. Lengths are pixels from the upper left corner.
#[derive(Debug)]
pub struct Svg {
    width: f64,
    height: f64,
    title: String,
    description: String,
    body: String,
}

impl Svg {
    /// An empty picture. Title and description are for readers who don't see it.
    pub fn new(width: f64, height: f64, title: &str, description: &str) -> Self {
        Self { width, height, title: title.to_owned(), description: description.to_owned(), body: String::new() }
    }

    /// A filled rectangle.
    pub fn rectangle(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let (x, y, width, height) = (pixels(x), pixels(y), pixels(width), pixels(height));
        self.element(format_args!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"2\"/>"));
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let (x1, y1, x2, y2) = (pixels(x1), pixels(y1), pixels(x2), pixels(y2));
        self.element(format_args!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"));
    }

    /// A dot.
    pub fn dot(&mut self, class: &str, (x, y): (f64, f64)) {
        let (x, y) = (pixels(x), pixels(y));
        self.element(format_args!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"/>"));
    }

    /// A line of text, whose middle is at the height of the point.
    pub fn text(&mut self, class: &str, anchor: Anchor, (x, y): (f64, f64), text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        // Not every program that shows pictures knows dominant-baseline.
        let (x, y, text) = (pixels(x), pixels(y + 4.5), escaped(text));
        self.element(format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>"));
    }

    fn element(&mut self, element: impl Display) {
        writeln!(self.body, "  {element}").expect("writing to a String can't fail");
    }

    /// The file.
    pub fn finish(self) -> String {
        let Self { width, height, title, description, body } = self;
        let (title, description) = (escaped(&title), escaped(&description));
        let (width, height) = (pixels(width), pixels(height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n  \
             <title>{title}</title>\n  <desc>{description}</desc>\n  <style>{STYLE}  </style>\n  \
             <rect class=\"back\" width=\"{width}\" height=\"{height}\"/>\n{body}</svg>\n"
        )
    }
}

/// Text without what means something in XML; control characters, which it may not have, are left out.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            letter if letter.is_control() => {}
            letter => safe.push(letter),
        }
    }
    safe
}

/// A length with at most one decimal: files differ where the picture does.
fn pixels(length: f64) -> String {
    let text = format!("{length:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_syntax() {
        assert_eq!(escaped("a < b & \"c\" > d\u{8}\n"), "a &lt; b &amp; &quot;c&quot; &gt; d");
        let mut svg = Svg::new(10.0, 20.5, "<title>", "a & b");
        svg.text("quiet", Anchor::End, (1.25, 2.0), "</svg>");
        let text = svg.finish();
        assert!(text.contains("<title>&lt;title&gt;</title>") && text.contains("<desc>a &amp; b</desc>"), "{text}");
        assert!(text.contains("<text class=\"quiet\" x=\"1.2\" y=\"6.5\" text-anchor=\"end\">&lt;/svg&gt;</text>"), "{text}");
        assert_eq!(text.matches("</svg>").count(), 1);
        assert!(text.contains("viewBox=\"0 0 10 20.5\""));
    }
}
