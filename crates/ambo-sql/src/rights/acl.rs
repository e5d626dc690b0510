//! A list of rights: who may do what with one thing.
//!
//! It is kept as a text with a line for each role: the letters of its rights, a blank, its name.

use super::{PUBLIC, Right};

/// See the module. Roles are in the order in which they got rights.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub(crate) struct Acl(Vec<(String, String)>);

const LETTERS: &str = "arwdUCo";

impl Acl {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let line = |line: &str| {
            let (letters, role) = line.split_once(' ')?;
            let is_known = !letters.is_empty() && letters.chars().all(|letter| LETTERS.contains(letter));
            is_known.then(|| (role.to_owned(), letters.to_owned()))
        };
        text.lines().map(line).collect::<Option<_>>().map(Self)
    }

    pub(crate) fn text(&self) -> String {
        self.0.iter().map(|(role, letters)| format!("{letters} {role}\n")).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a role has a right: itself, or as everybody has it. Who owns a thing has all.
    pub(crate) fn has(&self, role: &str, right: Right) -> bool {
        let letters = self.of(role);
        letters.contains(right.letter()) || letters.contains(Right::Own.letter())
    }

    /// The letters of all rights of a role, those of everybody among them.
    pub(crate) fn of(&self, role: &str) -> String {
        let is_of = |of: &&(String, String)| of.0 == role || of.0 == PUBLIC;
        self.0.iter().filter(is_of).map(|(_, letters)| letters.as_str()).collect()
    }

    /// Who owns it, if that is no superuser.
    pub(crate) fn owner(&self) -> Option<&str> {
        self.0
            .iter()
            .find(|(_, letters)| letters.contains(Right::Own.letter()))
            .map(|(role, _)| role.as_str())
    }

    /// Roles with the rights that they were given, in the order of a list of rights.
    pub(crate) fn given<'a>(
        &'a self,
        rights: &'a [Right],
    ) -> impl Iterator<Item = (&'a str, Vec<Right>)> + 'a {
        self.0.iter().map(|(role, letters)| {
            let has =
                |right: &&Right| letters.contains(right.letter()) || letters.contains(Right::Own.letter());
            (role.as_str(), rights.iter().filter(has).copied().collect())
        })
    }

    pub(crate) fn give(&mut self, role: &str, rights: &[Right]) {
        let place = self.0.iter().position(|(known, _)| known == role).unwrap_or_else(|| {
            self.0.push((role.to_owned(), String::new()));
            self.0.len() - 1
        });
        let letters = &mut self.0[place].1;
        for right in rights {
            if !letters.contains(right.letter()) {
                letters.push(right.letter());
            }
        }
        self.tidy();
    }

    pub(crate) fn take(&mut self, role: &str, rights: &[Right]) {
        for (_, letters) in self.0.iter_mut().filter(|(known, _)| known == role) {
            letters.retain(|letter| rights.iter().all(|right| right.letter() != letter));
        }
        self.tidy();
    }

    /// Takes all from a role; whether it had any.
    pub(crate) fn forget(&mut self, role: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|(known, _)| known != role);
        self.0.len() < before
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) -> bool {
        let named = self.0.iter_mut().filter(|(known, _)| known == from);
        named.map(|(role, _)| to.clone_into(role)).count() > 0
    }

    fn tidy(&mut self) {
        self.0.retain(|(_, letters)| !letters.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_written_and_read() {
        let mut acl = Acl::default();
        acl.give("ada b", &[Right::Select, Right::Insert]);
        acl.give("public", &[Right::Select]);
        acl.give("bob", &[Right::Own]);
        let read = Acl::parse(&acl.text()).unwrap();
        assert_eq!(read, acl);
        assert_eq!(read.text(), "ra ada b\nr public\no bob\n");
        assert!(read.has("ada b", Right::Insert) && !read.has("ada b", Right::Update));
        assert!(read.has("eve", Right::Select) && !read.has("eve", Right::Insert));
        assert!(read.has("bob", Right::Delete) && read.owner() == Some("bob"));
        let mut acl = read;
        acl.take("ada b", &[Right::Select, Right::Insert]);
        acl.take("public", &[Right::Select]);
        assert!(acl.forget("bob") && !acl.forget("bob"));
        assert!(acl.is_empty() && Acl::parse("").unwrap().is_empty());
        for wrong in ["r", "x ada", " ada", "r ada\nz"] {
            assert_eq!(Acl::parse(wrong), None, "{wrong}");
        }
    }
}
