//! Random statements against a simple model of a table.

use std::collections::BTreeMap;

use ambo_sql::{Connection, Database, ErrorKind};

use crate::common::{Random, STORAGES, rows, sound};

/// Rows by their keys: a unique value and a plain one.
#[derive(Clone, Default, PartialEq, Debug)]
struct Model(BTreeMap<i64, (Option<i64>, i64)>);

impl Model {
    /// Whether no two rows have a unique value.
    fn is_sound(&self) -> bool {
        let mut values: Vec<_> = self.0.values().filter_map(|row| row.0).collect();
        let all = values.len();
        values.sort_unstable();
        values.dedup();
        values.len() == all
    }

    fn shown(&self) -> String {
        let unique = |value: Option<i64>| value.map_or("NULL".to_owned(), |value| value.to_string());
        let row = |(key, row): (&i64, &(Option<i64>, i64))| format!("{key}, {}, {}", unique(row.0), row.1);
        self.0.iter().map(row).collect::<Vec<_>>().join("\n")
    }

    /// Rows to rows: `None` if two of them have a key or a unique value then.
    fn changed(
        &self,
        change: impl Fn(i64, (Option<i64>, i64)) -> Option<(i64, (Option<i64>, i64))>,
    ) -> Option<Self> {
        let mut next = Self::default();
        for (key, row) in &self.0 {
            if let Some((key, row)) = change(*key, *row)
                && next.0.insert(key, row).is_some()
            {
                return None;
            }
        }
        next.is_sound().then_some(next)
    }
}

/// A random statement, and the model behind it; `None` if it is to be refused.
fn step(random: &mut Random, model: &Model) -> (String, Option<Model>) {
    let (a, b, n) = (random.below(30), random.below(30), random.below(10));
    let unique = |value: i64| if value % 5 == 0 { None } else { Some(value) };
    let text = |value: Option<i64>| value.map_or("null".to_owned(), |value| value.to_string());
    let insert = |model: &Model, key: i64, value: Option<i64>, n: i64| {
        let mut next = model.clone();
        (next.0.insert(key, (value, n)).is_none() && next.is_sound()).then_some(next)
    };
    match random.below(12) {
        0 | 1 => {
            let u = unique(b);
            (format!("insert into t values ({a}, {}, {n})", text(u)), insert(model, a, u, n))
        }
        2 => {
            let (u, v) = (unique(b), unique(b + 7));
            let next = insert(model, a, u, n).and_then(|model| insert(&model, b, v, n));
            (format!("insert into t values ({a}, {}, {n}), ({b}, {}, {n})", text(u), text(v)), next)
        }
        3 => {
            let u = unique(b);
            let next = insert(model, a, u, n).unwrap_or_else(|| model.clone());
            (format!("insert into t values ({a}, {}, {n}) on conflict do nothing", text(u)), Some(next))
        }
        4 => {
            let u = unique(b);
            let next = match model.0.get(&a) {
                None => insert(model, a, u, n),
                Some(_) => model.changed(|key, row| match key == a {
                    true => Some((key, (u, row.1 + n))),
                    false => Some((key, row)),
                }),
            };
            let statement = format!(
                "insert into t values ({a}, {}, {n}) on conflict (k) do update set u = excluded.u, n = n + excluded.n",
                text(u)
            );
            (statement, next)
        }
        5 => {
            let u = unique(b);
            let mut next = model.clone();
            next.0.retain(|key, row| *key != a && (u.is_none() || row.0 != u));
            next.0.insert(a, (u, n));
            (format!("replace into t values ({a}, {}, {n})", text(u)), Some(next))
        }
        6 => {
            let next = model.changed(|key, row| match key >= a {
                true => Some((key + n, row)),
                false => Some((key, row)),
            });
            (format!("update t set k = k + {n} where k >= {a}"), next)
        }
        7 => {
            let next = model.changed(|key, row| match row.0 {
                Some(value) if key < a => Some((key, (Some(b - value), row.1))),
                _ => Some((key, row)),
            });
            (format!("update t set u = {b} - u where k < {a} and u is not null"), next)
        }
        8 => {
            let most = model.0.values().map(|row| row.1).max().unwrap_or_default();
            let next = model.changed(|key, row| match row.1 == most || key == a {
                true => Some((key, (row.0, n))),
                false => Some((key, row)),
            });
            (format!("update t set n = {n} where n = (select max(n) from t) or k in ({a})"), next)
        }
        9 => {
            let next = model.changed(|key, row| (key != a && row.1 != n).then_some((key, row)));
            (
                format!(
                    "delete from t where k = {a} or exists (select 1 from t as o where o.k = t.k and o.n = {n})"
                ),
                next,
            )
        }
        10 => {
            let next = model.changed(|key, row| match (key % 7 == n % 7, key % 3 == 0) {
                (false, _) => Some((key, row)),
                (true, true) => None,
                (true, false) => Some((key, (row.0, row.1 + 1))),
            });
            // No key comes so far.
            let new = 1_000_000 + random.below(1_000_000);
            let next = next.and_then(|model| insert(&model, new, None, n));
            let rest = n % 7;
            let statement = format!(
                "merge into t using (select k, true as old from t where k % 7 = {rest} union all select {new}, false) as s (k, old)
                 on t.k = s.k and s.old
                 when matched and t.k % 3 = 0 then delete
                 when matched then update set n = t.n + 1
                 when not matched then insert (k, n) values (s.k, {n})"
            );
            (statement, next)
        }
        _ => {
            let next = model.changed(|key, row| {
                let other = model.0.get(&(key + 1));
                Some((key, other.map_or(row, |other| (row.0, other.1))))
            });
            ("update t set n = o.n from t as o where o.k = t.k + 1".to_owned(), next)
        }
    }
}

#[test]
fn random_statements_do_what_a_model_does() {
    for (storage, seed) in STORAGES.into_iter().flat_map(|storage| [(storage, 11), (storage, 4242)]) {
        let dir = tempfile::tempdir().unwrap();
        let db = Database::open(dir.path()).unwrap();
        let mut c: Connection = db.connect();
        c.script(&format!(
            "create table t (k bigint primary key, u bigint unique, n bigint) storage = {storage}"
        ))
        .unwrap();
        let mut random = Random(seed);
        let (mut model, mut committed) = (Model::default(), Model::default());
        let mut refusals = 0;
        for nth in 0..300 {
            match random.below(25) {
                0 if !c.in_transaction() => drop(c.sql("begin").unwrap()),
                1 if c.in_transaction() => drop(c.sql("commit").unwrap()),
                2 if c.in_transaction() => {
                    c.sql("rollback").unwrap();
                    model = committed.clone();
                }
                3 if storage == "column" => db.compact().unwrap(),
                _ => {}
            }
            let (statement, next) = step(&mut random, &model);
            match (c.sql(&statement), next) {
                (Ok(_), Some(next)) => model = next,
                (Err(error), None) => {
                    assert_eq!(error.kind(), ErrorKind::Constraint, "{statement}: {error}");
                    refusals += 1;
                }
                (Ok(_), None) => panic!("{nth}: {statement} was done on\n{}", model.shown()),
                (Err(error), Some(_)) => panic!("{nth}: {statement}: {error} on\n{}", model.shown()),
            }
            if !c.in_transaction() {
                committed = model.clone();
            }
            assert_eq!(rows(&mut c, "select * from t order by k"), model.shown(), "{nth}: {statement}");
        }
        assert!(refusals > 5 && !model.0.is_empty(), "{refusals} refusals");
        drop(c);
        sound(&db);
    }
}
