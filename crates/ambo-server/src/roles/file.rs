//! The file of roles.

use std::{
    fs::{self, OpenOptions},
    io::{ErrorKind, Write},
    path::Path,
};

use ambo_sql::Level;

use super::{Role, Roles, Secret, Token};
use crate::{Error, Result};

/// What is said of a role that may not do all.
const WORDS: [(&str, Level); 3] =
    [("read-only", Level::Reader), ("writer", Level::Writer), ("limited", Level::Granted)];

impl Roles {
    /// Reads a file of roles; one that is not there has none.
    ///
    /// # Errors
    /// A file that cannot be read, or a line of it that is no role's.
    pub fn load(path: &Path) -> Result<Self> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::none()),
            Err(error) => return Err(Error::new(format!("{}: {error}", path.display()))),
        };
        let mut roles = Self::none();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let role = read(line).ok_or_else(|| {
                let number = number + 1;
                Error::new(format!(
                    "{}: line {number} is no role: NAME, then its password or token",
                    path.display()
                ))
            })?;
            roles.add(role);
        }
        Ok(roles)
    }

    /// Writes a file of roles, which only its owner can read. It is the old one or the new one whatever happens.
    ///
    /// # Errors
    /// A file that cannot be written, or a role whose name has blanks.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut text = String::new();
        for role in self.iter() {
            if role.name.is_empty() || role.name.contains(|c: char| c.is_whitespace() || c.is_control()) {
                return Err(Error::new(format!("\"{}\" is no name of a role: it has no blanks", role.name)));
            }
            text.push_str(&role.name);
            role.secret.iter().for_each(|secret| text.push_str(&format!(" {secret}")));
            role.token.iter().for_each(|token| text.push_str(&format!(" {token}")));
            let word = WORDS.iter().find(|(_, level)| *level == role.level);
            text.extend(word.map(|(word, _)| format!(" {word}")));
            text.push('\n');
        }
        let new = path.with_extension("new");
        let written = write(&new, &text).and_then(|()| fs::rename(&new, path));
        written.map_err(|error| Error::new(format!("{}: {error}", path.display())))
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn read(line: &str) -> Option<Role> {
    let mut words = line.split_whitespace();
    let mut role = Role::new(words.next()?);
    for word in words {
        match (Secret::parse(word), Token::parse(word)) {
            (Some(secret), _) => role.secret = Some(secret),
            (_, Some(token)) => role.token = Some(token),
            _ => role.level = WORDS.iter().find(|(known, _)| *known == word)?.1,
        }
    }
    Some(role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_written_and_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("roles");
        assert!(Roles::load(&path).unwrap().is_empty());
        let (text, token) = Token::generate();
        let mut roles = Roles::none();
        roles.add(Role::new("ada").password("secret"));
        roles.add(Role::new("bob").token(token).read_only(true));
        roles.add(Role::new("eve").level(Level::Granted));
        roles.save(&path).unwrap();
        let read = Roles::load(&path).unwrap();
        let ada = read.get("ada").unwrap();
        assert!(ada.secret.as_ref().is_some_and(|secret| secret.is_of("secret") && !secret.is_of("Secret")));
        assert_eq!((ada.level, read.get("eve").unwrap().level), (Level::Superuser, Level::Granted));
        assert!(read.with_token(&text).is_some_and(|role| role.name() == "bob" && role.is_read_only()));
        assert!(read.with_token("ambo_").is_none());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::write(&path, "ada SCRAM-SHA-256$1").unwrap();
        assert!(Roles::load(&path).unwrap_err().to_string().contains("line 1"));
        let mut roles = Roles::none();
        roles.add(Role::new("a b"));
        assert!(roles.save(&path).is_err());
    }
}
