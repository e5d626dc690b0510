//! Roles and rights as PostgreSQL tells them.

use datafusion::common::{Result, exec_err};

use super::{
    Catalog,
    functions::Arg,
    gather::{CATALOG_SCHEMA, Gathered, INFORMATION_SCHEMA, Relation},
    rows::OWNER,
    shape::Cell,
};
use crate::{
    planner::Planner,
    rights::{Acl, Level, PUBLIC, Right, Role, StoredRole, rights_in},
};

/// Who owns all that nobody else does, where whoever asks is not the one.
const ANONYMOUS: &str = "ambo";

/// A role with its number.
pub(super) struct Told {
    pub oid: i64,
    pub role: Role,
    pub can_login: bool,
}

/// All roles, and who of them asks.
#[derive(Default)]
pub(super) struct Roles {
    /// Who owns all that nobody else does: whoever asks, if that one may do all.
    pub owner: String,
    pub user: String,
    level: Option<Level>,
    /// All but the owner.
    pub others: Vec<Told>,
    /// Rights to schemas, by their numbers.
    pub schemas: Vec<(i64, Acl)>,
}

impl Gathered {
    pub(super) fn add_roles(&mut self, planner: &Planner<'_>, user: &str) {
        let restricted = planner.restricted();
        let owner = if restricted.is_some() { ANONYMOUS } else { user };
        let of = planner.catalogs()[0];
        let definitions = planner.place(of).definitions();
        let stored = StoredRole::all(&definitions).into_iter().map(|role| (role.role(), role.can_login));
        let kept = planner.place(of).engine.keeper.get().map(|keeper| keeper.roles()).unwrap_or_default();
        let mut others: Vec<(Role, bool)> = stored.chain(kept.into_iter().map(|role| (role, true))).collect();
        others.extend(
            restricted
                .filter(|own| others.iter().all(|(role, _)| role.name != own.name))
                .map(|own| (own.clone(), true)),
        );
        others.retain(|(role, _)| role.name != owner);
        others.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
        let others = others
            .into_iter()
            .map(|(role, can_login)| Told { oid: self.number("role", &role.name), role, can_login })
            .collect();
        let schemas = definitions.schemas();
        let schemas = schemas.iter().map(|schema| {
            let shown = if schema == ambo::DEFAULT_SCHEMA { "public" } else { schema };
            let oid = self.namespaces.iter().find(|(_, name)| name == shown).map_or(0, |(oid, _)| *oid);
            (oid, rights_in(&definitions, schema))
        });
        let schemas = schemas.collect();
        let level = restricted.map(Role::level);
        self.roles = Roles { owner: owner.to_owned(), user: user.to_owned(), level, others, schemas };
    }
}

impl Roles {
    pub fn number(&self, name: &str) -> Option<i64> {
        if name == self.owner {
            return Some(OWNER);
        }
        self.others.iter().find(|told| told.role.name == name).map(|told| told.oid)
    }

    pub fn name(&self, oid: i64) -> Option<&str> {
        if oid == OWNER {
            return Some(&self.owner);
        }
        self.others.iter().find(|told| told.oid == oid).map(|told| told.role.name.as_str())
    }

    /// Who owns something, and the number.
    pub fn owner_of(&self, acl: &Acl) -> (i64, &str) {
        let owner = acl.owner().and_then(|name| Some((self.number(name)?, self.name(self.number(name)?)?)));
        owner.unwrap_or((OWNER, &self.owner))
    }

    fn level(&self, name: &str) -> Option<Level> {
        match name {
            name if name == self.user => Some(self.level.unwrap_or(Level::Superuser)),
            name if name == self.owner => Some(Level::Superuser),
            PUBLIC => Some(Level::Granted),
            name => self.others.iter().find(|told| told.role.name == name).map(|told| told.role.level),
        }
    }

    fn may(&self, name: &str, level: Level, acl: &Acl, right: Right) -> bool {
        let of_level = match (level, right) {
            (Level::Superuser, _) => true,
            (Level::Reader | Level::Writer, Right::Select) => true,
            (Level::Writer, right) => {
                matches!(right, Right::Insert | Right::Update | Right::Delete | Right::Usage)
            }
            _ => false,
        };
        of_level || acl.has(name, right)
    }

    /// A list of rights as PostgreSQL keeps it; none where only the owner has any.
    pub fn list(&self, acl: &Acl, owner_has: &str, of: &[Right]) -> Cell {
        let (_, owner) = self.owner_of(acl);
        let others: Vec<_> = acl
            .given(of)
            .filter(|(role, rights)| *role != owner && !rights.is_empty())
            .map(|(role, rights)| {
                let letters: String = rights.iter().map(|right| right.letter()).collect();
                let role = if role == PUBLIC { String::new() } else { item(role) };
                format!("{role}={letters}/{}", item(owner))
            })
            .collect();
        if others.is_empty() {
            return Cell::Null;
        }
        let own = format!("{}={owner_has}/{}", item(owner), item(owner));
        Cell::Texts(std::iter::once(own).chain(others).collect())
    }

    /// Each right to a relation: who gave it, who has it, what it is called, whether it can be given on.
    pub fn of_relation(&self, acl: &Acl) -> Vec<(String, String, &'static str, bool)> {
        let (_, owner) = self.owner_of(acl);
        let own = ["INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"];
        let mut all: Vec<_> =
            own.map(|right| (owner.to_owned(), owner.to_owned(), right, true)).into_iter().collect();
        for (role, rights) in acl.given(&Right::OF_TABLES).filter(|(role, _)| *role != owner) {
            let role = if role == PUBLIC { "PUBLIC" } else { role };
            all.extend(rights.iter().map(|right| (owner.to_owned(), role.to_owned(), right.name(), false)));
        }
        // Others are not shown who has what.
        let is_seen = |role: &String| self.level.is_none() || *role == self.user || role == "PUBLIC";
        all.retain(|(grantor, grantee, ..)| is_seen(grantor) || is_seen(grantee));
        all
    }
}

/// The name of a role in a list of rights.
fn item(name: &str) -> String {
    match name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// Who is asked about, what, and for which right: the role may be left out, and stands by its name or number.
struct Asked<'a> {
    role: &'a str,
    level: Level,
    what: &'a Arg,
    rights: &'a str,
}

impl<'a> Asked<'a> {
    /// `None` where a part is NULL. `parts`: how many there are with the role.
    fn of(catalog: &'a Catalog, args: &'a [Arg], parts: usize) -> Result<Option<Self>> {
        if args.iter().any(|arg| matches!(arg, Arg::Null)) {
            return Ok(None);
        }
        let roles = &catalog.all.roles;
        let (role, rest) = match args.len() == parts {
            false => (roles.user.as_str(), args),
            true => match &args[0] {
                Arg::Text(name) if name == PUBLIC => (PUBLIC, &args[1..]),
                Arg::Text(name) => match roles.number(name).and_then(|oid| roles.name(oid)) {
                    Some(known) => (known, &args[1..]),
                    None if *name == roles.user => (roles.user.as_str(), &args[1..]),
                    None => return exec_err!("role \"{name}\" does not exist"),
                },
                other => match other.int().and_then(|oid| roles.name(oid)) {
                    Some(known) => (known, &args[1..]),
                    None => return Ok(None),
                },
            },
        };
        let level = roles.level(role).unwrap_or(Level::Granted);
        let rights = rest.last().and_then(Arg::text).unwrap_or_default();
        Ok(Some(Self { role, level, what: &rest[0], rights }))
    }

    /// Whether one of the rights that are asked for is there.
    fn any(&self, has: impl Fn(&str) -> Option<bool>) -> Result<Cell> {
        let mut any = false;
        for right in self.rights.split(',') {
            let right = right.trim().to_uppercase();
            let right = right.strip_suffix(" WITH GRANT OPTION").unwrap_or(&right);
            match has(right) {
                Some(is) => any |= is,
                None => return exec_err!("unrecognized privilege type: \"{right}\""),
            }
        }
        Ok(Cell::Bool(any))
    }
}

/// The relation that is asked about; `None` for a number that nothing has.
fn relation<'a>(of: &'a Catalog, arg: &Arg) -> Result<Option<Option<&'a Relation>>> {
    let oid = match arg {
        Arg::Text(name) => match of.relation_named(name) {
            Some(oid) => oid,
            None => return exec_err!("relation \"{name}\" does not exist"),
        },
        other => match other.int() {
            Some(oid) => oid,
            None => return Ok(None),
        },
    };
    match of.all.relation(oid) {
        Some(relation) => Ok(Some(Some(relation))),
        None => Ok(of.relation_shown(oid).map(|_| None)),
    }
}

pub(super) fn of_table(of: &Catalog, args: &[Arg]) -> Result<Cell> {
    of_parts(of, args, 3)
}

/// Rights are to whole tables.
pub(super) fn of_column(of: &Catalog, args: &[Arg]) -> Result<Cell> {
    of_parts(of, args, 4)
}

fn of_parts(of: &Catalog, args: &[Arg], parts: usize) -> Result<Cell> {
    let Some(asked) = Asked::of(of, args, parts)? else { return Ok(Cell::Null) };
    let Some(relation) = relation(of, asked.what)? else { return Ok(Cell::Null) };
    asked.any(|right| {
        let right = match right {
            "SELECT" | "REFERENCES" => Right::Select,
            "INSERT" => Right::Insert,
            "UPDATE" => Right::Update,
            "DELETE" | "TRUNCATE" => Right::Delete,
            "TRIGGER" => Right::Own,
            _ => return None,
        };
        Some(match relation {
            // The catalog is read by everybody.
            None => right == Right::Select || asked.level == Level::Superuser,
            Some(relation) if relation.is_temporary => true,
            Some(relation) => of.all.roles.may(asked.role, asked.level, &relation.acl, right),
        })
    })
}

pub(super) fn of_sequence(of: &Catalog, args: &[Arg]) -> Result<Cell> {
    let Some(asked) = Asked::of(of, args, 3)? else { return Ok(Cell::Null) };
    let Some(relation) = relation(of, asked.what)? else { return Ok(Cell::Null) };
    let Some(relation) = relation.filter(|relation| relation.kind == "S") else {
        return exec_err!("this is not a sequence");
    };
    // One that goes with a table is used by whoever inserts there.
    let table = relation.numbers.as_ref().and_then(|numbers| of.all.relation(numbers.owner?.0));
    let roles = &of.all.roles;
    asked.any(|right| {
        let (right, of_table) = match right {
            "USAGE" => (Right::Usage, Right::Insert),
            "SELECT" => (Right::Select, Right::Select),
            "UPDATE" => (Right::Update, Right::Update),
            _ => return None,
        };
        let by_table = table.is_some_and(|table| roles.may(asked.role, asked.level, &table.acl, of_table));
        Some(relation.is_temporary || by_table || roles.may(asked.role, asked.level, &relation.acl, right))
    })
}

pub(super) fn of_schema(of: &Catalog, args: &[Arg]) -> Result<Cell> {
    let Some(asked) = Asked::of(of, args, 3)? else { return Ok(Cell::Null) };
    let oid = match asked.what {
        Arg::Text(name) => match of.schema_named(name) {
            Some(oid) => oid,
            None => return exec_err!("schema \"{name}\" does not exist"),
        },
        other => match other.int() {
            Some(oid) => oid,
            None => return Ok(Cell::Null),
        },
    };
    let acl = of.all.roles.schemas.iter().find(|(known, _)| *known == oid).map(|(_, acl)| acl);
    asked.any(|right| match right {
        "USAGE" => Some(true),
        "CREATE" if matches!(oid, CATALOG_SCHEMA | INFORMATION_SCHEMA) => {
            Some(asked.level == Level::Superuser)
        }
        "CREATE" => {
            let none = Acl::default();
            Some(of.all.roles.may(asked.role, asked.level, acl.unwrap_or(&none), Right::Create))
        }
        _ => None,
    })
}

pub(super) fn of_database(of: &Catalog, args: &[Arg]) -> Result<Cell> {
    let Some(asked) = Asked::of(of, args, 3)? else { return Ok(Cell::Null) };
    asked.any(|right| match right {
        "CONNECT" | "TEMP" | "TEMPORARY" => Some(true),
        "CREATE" => Some(asked.level == Level::Superuser),
        _ => None,
    })
}

/// The rights to a thing of a kind that nobody has given or taken: those of its owner, and what everybody has.
pub(super) fn usual(of: &Catalog, args: &[Arg]) -> Result<Cell> {
    let (Some(kind), Some(number)) = (args[0].text(), args[1].int()) else { return Ok(Cell::Null) };
    let owner = match number {
        super::rows::OWNER_OF_PUBLIC => "pg_database_owner".to_owned(),
        number => of.all.roles.name(number).map_or_else(|| number.to_string(), item),
    };
    let (everybody, own) = match kind {
        "c" => ("", ""),
        "r" => ("", "arwdDxt"),
        "s" => ("", "rwU"),
        "d" => ("Tc", "CTc"),
        "f" => ("X", "X"),
        "l" | "T" => ("U", "U"),
        "L" => ("", "rw"),
        "n" => ("", "UC"),
        "p" => ("", "sA"),
        "t" => ("", "C"),
        "F" | "S" => ("", "U"),
        other => return exec_err!("unrecognized object type abbreviation: {other}"),
    };
    let item = |role: &str, letters: &str| format!("{role}={letters}/{owner}");
    let all = [("", everybody), (owner.as_str(), own)];
    let all = all.into_iter().filter(|(_, letters)| !letters.is_empty());
    Ok(Cell::Texts(all.map(|(role, letters)| item(role, letters)).collect()))
}

/// What everybody may use.
pub(super) fn of_everybody(of: &Catalog, args: &[Arg]) -> Result<Cell> {
    Ok(Asked::of(of, args, 3)?.map_or(Cell::Null, |_| Cell::Bool(true)))
}

/// Whether a role is another, or may do what that one may.
pub(super) fn has_role(of: &Catalog, args: &[Arg]) -> Result<Cell> {
    let Some(asked) = Asked::of(of, args, 3)? else { return Ok(Cell::Null) };
    let roles = &of.all.roles;
    let other = match asked.what {
        Arg::Text(name) => name.as_str(),
        other => match other.int().and_then(|oid| roles.name(oid)) {
            Some(name) => name,
            None => return Ok(Cell::Bool(asked.level == Level::Superuser)),
        },
    };
    Ok(Cell::Bool(match other {
        _ if asked.level == Level::Superuser => true,
        "pg_read_all_data" => asked.level >= Level::Reader,
        "pg_write_all_data" => asked.level >= Level::Writer,
        other => other == asked.role,
    }))
}
