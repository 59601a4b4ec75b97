//! Two kinds of plots: bars, and ranges on a logarithmic axis.

use super::scale::Scale;
use super::svg::{Anchor, Svg};

/// Whose figure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Series {
    /// Narthex.
    Own,
    /// Plain NGINX.
    Plain,
    /// ingress-nginx.
    Peer,
}

impl Series {
    const ALL: [Self; 3] = [Self::Own, Self::Plain, Self::Peer];

    fn class(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Plain => "plain",
            Self::Peer => "peer",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Own => "Narthex",
            Self::Plain => "plain NGINX",
            Self::Peer => "ingress-nginx 1.15.1",
        }
    }
}

/// A figure, or the range of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Whose it is.
    pub series: Series,
    /// The figure; of a range its start.
    pub from: f64,
    /// The end of the range; of a single figure the same.
    pub to: f64,
    /// What stands beside it.
    pub text: String,
}

/// Marks that are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// What they are about.
    pub label: String,
    /// The marks, from top to bottom.
    pub marks: Vec<Mark>,
}

/// A plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// What the axis measures, and which way is better.
    pub axis: String,
    /// Its groups.
    pub groups: Vec<Group>,
}

const WIDTH: f64 = 800.0;
/// Where the axis begins and ends.
const LEFT: f64 = 300.0;
const RIGHT: f64 = 700.0;
/// Where the groups begin.
const TOP: f64 = 74.0;
/// Height of a mark, and of the space between groups.
const MARK: f64 = 22.0;
const SPACE: f64 = 12.0;

impl Chart {
    /// Bars from zero; `unit` writes a value of the axis.
    pub fn bars(&self, unit: impl Fn(f64) -> String) -> String {
        let most = self.marks().map(|mark| mark.to).fold(0.0, f64::max);
        let scale = Scale::linear(most);
        self.draw(scale, unit, |svg, mark, y| {
            let end = x(scale, mark.to);
            svg.rectangle(mark.series.class(), (LEFT, y - MARK * 0.36), ((end - LEFT).max(1.0), MARK * 0.72));
            svg.text("value", Anchor::Start, (end + 6.0, y), &mark.text);
        })
    }

    /// Ranges on a logarithmic axis: a dot where each begins, and a ring where it ends.
    pub fn ranges(&self, unit: impl Fn(f64) -> String) -> String {
        let least = self.marks().map(|mark| mark.from).fold(f64::INFINITY, f64::min);
        let most = self.marks().map(|mark| mark.to).fold(0.0, f64::max);
        let scale = Scale::log(least, most);
        self.draw(scale, unit, |svg, mark, y| {
            let (start, end, class) = (x(scale, mark.from), x(scale, mark.to), mark.series.class());
            if mark.to > mark.from {
                svg.line(&format!("{class} range"), (start, y), (end, y));
                svg.dot(&format!("{class} open"), (end, y));
            }
            svg.dot(class, (start, y));
            if end + 10.0 + width(&mark.text) > WIDTH {
                svg.text("value", Anchor::End, (start - 10.0, y), &mark.text);
            } else {
                svg.text("value", Anchor::Start, (end + 10.0, y), &mark.text);
            }
        })
    }

    fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.groups.iter().flat_map(|group| &group.marks)
    }

    /// Title, legend, grid and labels; `mark` draws a mark at a height.
    fn draw(&self, scale: Scale, unit: impl Fn(f64) -> String, mark: impl Fn(&mut Svg, &Mark, f64)) -> String {
        let height: f64 = self.groups.iter().map(|group| group.marks.len() as f64 * MARK + SPACE).sum();
        let bottom = TOP + height;
        let mut svg = Svg::new(WIDTH, bottom + 44.0, &self.title, &self.description());
        svg.text("head", Anchor::Start, (16.0, 22.0), &self.title);
        let mut at = 16.0;
        for series in Series::ALL.into_iter().filter(|series| self.marks().any(|mark| mark.series == *series)) {
            svg.rectangle(series.class(), (at, 42.0), (12.0, 12.0));
            svg.text("quiet", Anchor::Start, (at + 18.0, 48.0), series.name());
            at += 18.0 + width(series.name()) + 20.0;
        }
        for value in scale.ticks() {
            let x = x(scale, value);
            svg.line("grid", (x, TOP - 6.0), (x, bottom));
            svg.text("quiet", Anchor::Middle, (x, bottom + 12.0), &unit(value));
        }
        svg.text("quiet", Anchor::End, (RIGHT, bottom + 30.0), &self.axis);
        let mut y = TOP;
        for group in &self.groups {
            svg.text("label", Anchor::End, (LEFT - 14.0, y + group.marks.len() as f64 * MARK / 2.0), &group.label);
            for one in &group.marks {
                mark(&mut svg, one, y + MARK / 2.0);
                y += MARK;
            }
            y += SPACE;
        }
        svg.finish()
    }

    /// All of it as text.
    fn description(&self) -> String {
        let groups = self.groups.iter().map(|group| {
            let marks: Vec<String> = group.marks.iter().map(|mark| format!("{} {}", mark.series.name(), mark.text)).collect();
            format!("{}: {}", group.label, marks.join(", "))
        });
        format!("{}. {}.", self.axis, groups.collect::<Vec<_>>().join("; "))
    }
}

/// About the width of a text, whose font is not known.
fn width(text: &str) -> f64 {
    text.chars().count() as f64 * 7.0
}

fn x(scale: Scale, value: f64) -> f64 {
    LEFT + scale.place(value) * (RIGHT - LEFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(marks: Vec<Mark>) -> Chart {
        Chart { title: "Title".into(), axis: "milliseconds".into(), groups: vec![Group { label: "One".into(), marks }] }
    }

    fn mark(series: Series, from: f64, to: f64) -> Mark {
        Mark { series, from, to, text: format!("{from} to {to}") }
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        let text = chart(vec![mark(Series::Own, 5.0, 5.0), mark(Series::Peer, 10.0, 10.0)]).bars(|value| value.to_string());
        assert!(text.contains("<rect class=\"own\" x=\"300\" y=\"77.1\" width=\"200\""), "{text}");
        assert!(text.contains("<rect class=\"peer\" x=\"300\" y=\"99.1\" width=\"400\""), "{text}");
        assert!(text.contains("<desc>milliseconds. One: Narthex 5 to 5, ingress-nginx 1.15.1 10 to 10.</desc>"), "{text}");
        // Only series that are there are in the legend.
        assert!(!text.contains("plain NGINX"), "{text}");
    }

    #[test]
    fn a_range_goes_from_its_dot_to_its_ring() {
        let text =
            chart(vec![mark(Series::Own, 1.0, 10.0), Mark { text: "a text that is too long".into(), ..mark(Series::Peer, 100.0, 100.0) }])
                .ranges(|value| value.to_string());
        assert!(text.contains("<line class=\"own range\" x1=\"300\" y1=\"85\" x2=\"500\" y2=\"85\"/>"), "{text}");
        assert!(text.contains("<circle class=\"own open\" cx=\"500\"") && text.contains("<circle class=\"own\" cx=\"300\""), "{text}");
        // A single figure has no line, and text that would end outside stands before it.
        assert!(!text.contains("peer range") && text.contains("x=\"690\" y=\"111.5\" text-anchor=\"end\""), "{text}");
    }
}
