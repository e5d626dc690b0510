//! Files of the machine: which of them statements have to do with.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use crate::{Error, Result, session::Session};

/// Which files of the machine the statements of a connection have to do with: `COPY` to and from files, `read_csv` and its sisters,
/// `ATTACH`, `BACKUP TO`, `PUBLISH TO`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// None.
    None,
    /// Those beneath a directory, whatever links there are: see [`Files::beneath`].
    Beneath(Arc<Path>),
    /// All that the process can read and write.
    #[default]
    All,
}

impl Files {
    /// The files beneath a directory; those of `/` are all.
    ///
    /// ```
    /// use ambo_sql::Files;
    /// let home = tempfile::tempdir()?;
    /// let db = ambo_sql::Database::in_memory()?;
    /// let mut connection = db.connect();
    /// connection.script("create table t (id int); insert into t values (1)")?;
    /// connection.set_files(Files::beneath(home.path())?);
    /// connection.execute(&format!("copy t to '{}/t.csv'", home.path().display()), ())?;
    /// let error = connection.execute("copy t from '/etc/passwd'", ()).unwrap_err();
    /// assert_eq!(error.sqlstate(), "42501");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is no such directory.
    pub fn beneath(directory: impl AsRef<Path>) -> io::Result<Self> {
        let whole = directory.as_ref().canonicalize()?;
        match whole.is_dir() {
            true if whole == Path::new("/") => Ok(Self::All),
            true => Ok(Self::Beneath(whole.into())),
            false => Err(io::Error::new(io::ErrorKind::NotADirectory, "this is no directory")),
        }
    }
}

/// Where a path leads, as far as it is there: links are followed. `None` where that cannot be said.
fn leads_to(path: &Path) -> Option<PathBuf> {
    if path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    // A link that leads nowhere is there, too, and what is written to it is made where it leads.
    let there = path.ancestors().find(|path| fs::symlink_metadata(path).is_ok());
    there.unwrap_or(Path::new(".")).canonicalize().ok()
}

/// What stands before the first sign of a pattern.
fn fixed(path: &str) -> &Path {
    match path.find(['*', '?', '[']) {
        Some(sign) if !Path::new(path).exists() => {
            Path::new(path[..sign].rsplit_once('/').map_or(".", |(folder, _)| folder))
        }
        _ => Path::new(path),
    }
}

impl Session {
    /// Checks that the role may read or write a file of the machine.
    pub(crate) fn require_file(&self, path: &str) -> Result<()> {
        match self.own_file.as_deref() == Some(path) {
            true => Ok(()),
            false => {
                self.require_files()?;
                self.require_path(path)
            }
        }
    }

    /// Checks that the session has to do with files of the machine, and its role, too; which they are is looked at with their paths.
    pub(crate) fn require_files(&self) -> Result<()> {
        self.require_superuser("a file of the server")?;
        match self.files {
            Files::None => Err(Error::invalid("permission denied: statements read and write no files here")
                .with_hint("rows come and go by the connection: COPY … FROM STDIN, COPY … TO STDOUT")),
            _ => Ok(()),
        }
    }

    /// Checks that a path, or all that a pattern finds, is where the session's files are.
    pub(crate) fn require_path(&self, path: &str) -> Result<()> {
        let Files::Beneath(directory) = &self.files else { return Ok(()) };
        let bare = path.strip_prefix("file://").unwrap_or(path);
        let is_within = |path: &Path| leads_to(path).is_some_and(|path| path.starts_with(directory));
        let start = fixed(bare);
        let has_none_above = !bare.split('/').any(|part| part == "..");
        let is_pattern = start != Path::new(bare);
        // What a pattern finds may be a link.
        let all_within = || {
            !is_pattern
                || ambo_files::paths(bare).map_or(true, |found| found.iter().all(|path| is_within(path)))
        };
        match has_none_above && is_within(start) && all_within() {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "permission denied: \"{path}\" is not beneath {}",
                directory.display()
            ))
            .with_hint("statements read and write files there alone, by their whole paths")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: files that a path with .., a link or a pattern leads to.
    #[test]
    fn paths_lead_nowhere_else() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
        for folder in ["in", "in/deep", "out"] {
            fs::create_dir(at(folder)).unwrap();
        }
        for file in ["in/a.csv", "in/deep/b.csv", "out/c.csv"] {
            fs::write(at(file), "x\n1\n").unwrap();
        }
        let session = Session { files: Files::beneath(at("in")).unwrap(), ..Session::default() };
        for path in ["in/a.csv", "in/deep/b.csv", "in/new.csv", "in/new/er.csv", "in/*.csv", "in/*/*.csv"] {
            session.require_path(&at(path)).unwrap();
        }
        std::os::unix::fs::symlink(at("out/c.csv"), at("in/link.csv")).unwrap();
        std::os::unix::fs::symlink(at("out/none.csv"), at("in/nowhere.csv")).unwrap();
        std::os::unix::fs::symlink(at("out"), at("in/elsewhere")).unwrap();
        let more =
            ["in/../out/c.csv", "in/new/../../out/c.csv", "out/c.csv", "out/*.csv", "*/c.csv", "in2/a.csv"];
        for path in ["in/*.csv", "in/link.csv", "in/nowhere.csv", "in/elsewhere/c.csv", "in/elsewhere/*.csv"]
            .into_iter()
            .chain(more)
        {
            let error = session.require_path(&at(path)).unwrap_err();
            assert!(error.message().starts_with("permission denied: \""), "{path}: {error}");
        }
        assert_eq!(Files::beneath("/").unwrap(), Files::All);
        let refused = |path: &str| Files::beneath(at(path)).unwrap_err().kind();
        assert_eq!(refused("in/a.csv"), std::io::ErrorKind::NotADirectory);
        assert_eq!(refused("none"), std::io::ErrorKind::NotFound);
    }
}
