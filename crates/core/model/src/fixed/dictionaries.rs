//! Where NGINX has its shared dictionaries.
//!
//! NGINX can't change the size of one: another size is another dictionary, which the master fills from the former one when it reads the
//! configuration, and which therefore has another name beside it. Each has two names, which take turns.

use std::collections::BTreeMap;
use std::sync::Arc;

use ngx_value::{Identifier, Size};
use settings::is_own_dictionary;

use super::Fixed;

/// The second name is the first with this behind it.
const SECOND: &str = "_resized";

/// The place of one dictionary in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// It has its second name.
    pub second: bool,
    /// The size of the former one, which is there as well, under the other name.
    pub former: Option<Size>,
}

/// What becomes of former dictionaries in the next text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formers {
    /// All stay: workers use them.
    Stay,
    /// All stay but those under whose name one of another size is wanted.
    GiveWay,
    /// None stays.
    Leave,
}

/// The dictionaries of a running NGINX: the size of each, and its place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dictionaries(pub BTreeMap<Identifier, (Size, Place)>);

/// Places of dictionaries that are not where their name says.
pub type Places = BTreeMap<Identifier, Place>;

impl Place {
    /// The name of the dictionary in the text.
    pub fn name(self, dictionary: &str) -> String {
        Self::named(dictionary, self.second)
    }

    /// The name of the former one.
    pub fn former_name(self, dictionary: &str) -> Option<String> {
        self.former.map(|_| Self::named(dictionary, !self.second))
    }

    fn named(dictionary: &str, second: bool) -> String {
        if second { format!("{dictionary}{SECOND}") } else { dictionary.to_owned() }
    }
}

impl Dictionaries {
    /// Those of a text.
    pub fn of(text: &Fixed) -> Self {
        let (sizes, places) = (&text.globals.config.lua_shared_dicts, &text.globals.places);
        Self(sizes.iter().map(|(name, size)| (name.clone(), (*size, places.get(name).copied().unwrap_or_default()))).collect())
    }

    /// The text with these dictionaries moved: what has another size than NGINX has comes under the other name, unless the former one is still
    /// there. Those that users add, which we do not fill, are not moved: they are empty again.
    pub fn place(&self, wanted: &Fixed, formers: Formers) -> Fixed {
        let config = &wanted.globals.config;
        let (sizes, places) = self.next(&config.lua_shared_dicts, formers);
        if sizes == config.lua_shared_dicts && places == wanted.globals.places {
            return wanted.clone();
        }
        let mut globals = (*wanted.globals).clone();
        (globals.config.lua_shared_dicts, globals.places) = (sizes, places);
        Fixed { globals: Arc::new(globals), ..wanted.clone() }
    }

    fn next(&self, wanted: &BTreeMap<Identifier, Size>, formers: Formers) -> (BTreeMap<Identifier, Size>, Places) {
        let mut sizes = wanted.clone();
        let mut places = Places::new();
        for (name, size) in &mut sizes {
            let Some((held, place)) = self.0.get(name).filter(|_| is_own_dictionary(name.as_str())) else { continue };
            let next = match place.former {
                None if held != size => Place { second: !place.second, former: Some(*held) },
                None => *place,
                Some(_) => {
                    let leaves = match formers {
                        Formers::Stay => false,
                        Formers::GiveWay => held != size,
                        Formers::Leave => true,
                    };
                    *size = *held;
                    Place { former: place.former.filter(|_| !leaves), ..*place }
                }
            };
            if next != Place::default() {
                places.insert(name.clone(), next);
            }
        }
        (sizes, places)
    }

    /// Whether a dictionary of ours has another size than is wanted.
    pub fn differ(&self, wanted: &Fixed) -> bool {
        let differs =
            |(name, size): (&Identifier, &Size)| is_own_dictionary(name.as_str()) && self.0.get(name).is_some_and(|(held, _)| held != size);
        wanted.globals.config.lua_shared_dicts.iter().any(differs)
    }

    /// Whether the text with these places fills a dictionary from a former one that this NGINX has alone.
    pub fn move_to(&self, text: &Fixed) -> bool {
        text.globals
            .places
            .iter()
            .any(|(name, place)| place.former.is_some() && self.0.get(name).is_none_or(|(_, held)| held.former.is_none()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(of: &[(&str, u32)]) -> Fixed {
        let mut fixed = Fixed::default();
        let sizes = of.iter().map(|(name, mebibytes)| (name.parse().unwrap(), Size::mib(*mebibytes))).collect();
        Arc::make_mut(&mut fixed.globals).config.lua_shared_dicts = sizes;
        fixed
    }

    /// Name, size, former name and former size of each, as they stand in the text.
    fn shown(text: &Fixed) -> Vec<String> {
        let line = |(name, size): (&Identifier, &Size)| {
            let place = text.globals.places.get(name).copied().unwrap_or_default();
            let former = place.former_name(name.as_str()).zip(place.former).map(|(name, size)| format!(" {name} {size}"));
            format!("{} {size}{}", place.name(name.as_str()), former.unwrap_or_default())
        };
        text.globals.config.lua_shared_dicts.iter().map(line).collect()
    }

    #[test]
    fn another_size_is_another_dictionary_until_no_worker_uses_the_former_one() {
        let sizes = |limits: u32, own: u32| wanted(&[("limit_req", limits), ("limit_conn", 1), ("my_cache", own)]);
        let mut running = Dictionaries::of(&sizes(1, 1));
        let mut step = |wanted: &Fixed, formers| {
            let next = running.place(wanted, formers);
            let moves = running.move_to(&next);
            running = Dictionaries::of(&next);
            (shown(&next).into_iter().filter(|line| !line.starts_with("limit_conn")).collect::<Vec<_>>(), moves)
        };
        let moved = ["limit_req_resized 2m limit_req 1m", "my_cache 5m"].map(str::to_owned).to_vec();
        assert_eq!(step(&sizes(2, 5), Formers::Stay), (moved.clone(), true));
        assert_eq!(step(&sizes(2, 5), Formers::Stay), (moved.clone(), false), "workers use the former one");
        assert_eq!(step(&sizes(2, 5), Formers::GiveWay), (moved, false), "it is in the way of nothing");
        // It can't move again before the former one has gone, whose name it takes.
        assert_eq!(step(&sizes(1, 5), Formers::Stay).0[0], "limit_req_resized 2m limit_req 1m");
        assert_eq!(step(&sizes(1, 5), Formers::GiveWay), (["limit_req_resized 2m", "my_cache 5m"].map(str::to_owned).to_vec(), false));
        assert_eq!(
            step(&sizes(1, 5), Formers::Leave),
            (["limit_req 1m limit_req_resized 2m", "my_cache 5m"].map(str::to_owned).to_vec(), true)
        );
        assert_eq!(step(&sizes(1, 5), Formers::Leave).0[0], "limit_req 1m");
    }

    #[test]
    fn what_an_nginx_does_not_say_it_has_is_as_wanted() {
        let running = Dictionaries::of(&wanted(&[("limit_req", 1)]));
        let more = wanted(&[("limit_req", 1), ("limit_conn", 2)]);
        assert_eq!(shown(&running.place(&more, Formers::Leave)), ["limit_conn 2m", "limit_req 1m"]);
        assert!(!running.differ(&more) && running.differ(&wanted(&[("limit_req", 2)])));
    }
}
