//! `ambo role`: who may come in where a database is served.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use ambo_server::{Role, Roles, Token};
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
    #[arg(long)]
    pub read_only: bool,
    /// Give it a token for HTTP too, which is shown once
    #[arg(long)]
    pub token: bool,
    /// The file of roles [default: `roles` in the database's directory]
    #[arg(long, value_name = "FILE")]
    pub roles: Option<PathBuf>,
}

/// Does it. A server reads the file when it starts.
pub fn run(arguments: RoleArguments, out: &mut Output) -> Result<()> {
    let RoleArguments { dir, action, name, read_only, token, roles: file } = arguments;
    let path = file.unwrap_or_else(|| dir.join(ROLES));
    let failed = |error: ambo_server::Error| Failure::usage(error.to_string());
    let mut roles = Roles::load(&path).map_err(failed)?;
    let name = name.unwrap_or_default();
    match action {
        RoleAction::List => {
            for role in roles.iter() {
                let (name, read_only) = (role.name(), role.is_read_only());
                if out.is_json() {
                    out.json(&json!({ "role": name, "read_only": read_only }))?;
                    continue;
                }
                writeln!(out, "{name}{}", if read_only { " (only reads)" } else { "" })?;
            }
            return Ok(());
        }
        RoleAction::Remove if !roles.remove(&name) => {
            return Err(Failure::Negative(format!("{}: there is no role {name}", path.display())));
        }
        RoleAction::Remove => {}
        RoleAction::Add => {
            let mut role = Role::new(&name).password(&password()?).read_only(read_only);
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
