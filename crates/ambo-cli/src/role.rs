//! `ambo role`: who may come in where a database is served.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use ambo_server::{Role, Roles, Token};
use ambo_sql::Level;
use clap::Args;
use serde_json::json;

use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::serve::{ROLES, RoleAction};

/// What `ambo role` takes.
#[derive(Args, Clone, Debug)]
pub struct RoleArguments {
    /// The database's directory
    pub dir: PathBuf,
    /// What to do
    pub action: RoleAction,
    /// The role
    #[arg(required_if_eq_any([("action", "add"), ("action", "remove")]))]
    pub name: Option<String>,
    /// It may only read
    #[arg(long, conflicts_with_all = ["writer", "limited"])]
    pub read_only: bool,
    /// It may read and write the rows of all tables, and no more
    #[arg(long, conflicts_with = "limited")]
    pub writer: bool,
    /// It may do what it is granted by SQL, and no more
    #[arg(long)]
    pub limited: bool,
    /// Give it a token for HTTP too, which is shown once
    #[arg(long)]
    pub token: bool,
    /// The file of roles [default: `roles` in the database's directory]
    #[arg(long, value_name = "FILE")]
    pub roles: Option<PathBuf>,
}

/// Does it. A server reads the file when it starts.
pub fn run(arguments: RoleArguments, out: &mut Output) -> Result<()> {
    let RoleArguments { dir, action, name, read_only, writer, limited, token, roles: file } = arguments;
    let level = match (read_only, writer, limited) {
        (true, ..) => Level::Reader,
        (_, true, _) => Level::Writer,
        (.., true) => Level::Granted,
        _ => Level::Superuser,
    };
    let path = file.unwrap_or_else(|| dir.join(ROLES));
    let failed = |error: ambo_server::Error| Failure::usage(error.to_string());
    let mut roles = Roles::load(&path).map_err(failed)?;
    let name = name.unwrap_or_default();
    match action {
        RoleAction::List => {
            for role in roles.iter() {
                let (name, read_only) = (role.name(), role.is_read_only());
                let may = match role.may() {
                    Level::Superuser => "all",
                    Level::Writer => "read and write",
                    Level::Reader => "read",
                    _ => "what it is granted",
                };
                if out.is_json() {
                    out.json(&json!({ "role": name, "read_only": read_only, "may": may }))?;
                    continue;
                }
                writeln!(
                    out,
                    "{name}{}",
                    match role.may() {
                        Level::Superuser => "",
                        Level::Reader => " (only reads)",
                        Level::Writer => " (reads and writes)",
                        _ => " (what it is granted)",
                    }
                )?;
            }
            return Ok(());
        }
        RoleAction::Remove if !roles.remove(&name) => {
            return Err(Failure::Negative(format!("{}: there is no role {name}", path.display())));
        }
        RoleAction::Remove => {}
        RoleAction::Add => {
            let mut role = Role::new(&name).password(&password()?).level(level);
            if token {
                let (text, token) = Token::generate();
                role = role.token(token);
                writeln!(out, "{text}")?;
            }
            roles.add(role);
        }
    }
    roles.save(&path).map_err(failed)
}

/// A line of standard input.
fn password() -> Result<String> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Failure::usage(format!("the password cannot be read: {error}")))?;
    match line.trim_end_matches(['\n', '\r']) {
        "" => Err(Failure::usage(
            "the password is read from standard input, and none came: echo PASSWORD | ambo role DIR add NAME",
        )),
        password => Ok(password.to_owned()),
    }
}
