//! Random statements that write.

use super::{
    expression::type_of,
    query::Generator,
    schema::{Column, Kind},
};

impl Generator<'_> {
    /// The number of a table, and a statement that writes to it.
    pub fn write(&mut self) -> (usize, String) {
        let table = self.table();
        self.written = Some(table);
        (table, self.write_to(table))
    }

    fn write_to(&mut self, table: usize) -> String {
        let own = self.schema.tables[table].columns_under(&format!("t{table}"));
        let settable: Vec<_> = self.schema.tables[table].columns[4..].to_vec();
        let has_key = !self.schema.tables[table].key.is_empty();
        match self.random.below(7) {
            0 => {
                let part = self.random.below(3);
                format!("delete from t{table} where t{table}.k % 3 = {part} and {}", self.condition(&own, 2))
            }
            1 | 2 if !settable.is_empty() => {
                let (column, of) = self.random.of(&settable).clone();
                let value = self.value_of(&column, of, &own);
                format!("update t{table} set {} = {value} where {}", column.name, self.condition(&own, 2))
            }
            6 if has_key && self.one_in(2) => self.by_key(table, &own, &settable),
            3 if has_key => self.upsert(table, &settable),
            4 if has_key && !settable.is_empty() => self.merge(table, &settable),
            5 => {
                let other = self.table();
                let from = &self.schema.tables[other].columns_under("y");
                let columns = self.schema.tables[table].columns.clone();
                let value = |of: &mut Self, (column, ty): &(Column, &str)| match column.name.as_str() {
                    "k" => format!("y.k + {}", 1000 * (1 + of.random.below(50))),
                    "g" | "h" | "e" => format!("y.{}", column.name),
                    _ => of.value_of(column, ty, from),
                };
                let values: Vec<_> = columns.iter().map(|column| value(self, column)).collect();
                format!("insert into t{table} select {} from t{other} as y where y.k < 20", values.join(", "))
            }
            _ => {
                let first = 200 + self.random.below(100_000);
                let row = |of: &mut Self, key| of.schema.tables[table].row(of.random, key);
                let (a, b) = (row(self, first), row(self, first + 1));
                let returning = if self.one_in(2) { " returning k, h as height" } else { "" };
                format!("insert into t{table} values {a}, {b}{returning}")
            }
        }
    }

    /// A value that fits a column.
    fn value_of(&mut self, column: &Column, of: &str, sight: &[Column]) -> String {
        let value = self.expression(column.kind, sight, 2);
        match column.kind {
            // Values stay small, however often they are changed.
            Kind::Int => format!("cast(({value}) % 20 as {of})"),
            Kind::Text => format!("substr({value}, 1, 5)"),
            Kind::Decimal => format!("cast(({value}) as {of})"),
            Kind::Double if of == "real" => "cast(0.5 as real)".into(),
            Kind::Double => format!("cast(({value}) as double)"),
            kind => format!("cast(({value}) as {})", type_of(kind)),
        }
    }

    /// A change of one row at most, which is returned.
    fn by_key(&mut self, table: usize, own: &[Column], settable: &[(Column, &str)]) -> String {
        let key = self.schema.tables[table].key.clone();
        let value = |of: &mut Self, name: &str| match own
            .iter()
            .find(|column| column.name.ends_with(&format!(".{name}")))
        {
            Some(column) if name != "k" => of.leaf(column.kind, &[]),
            _ => of.random.below(60).to_string(),
        };
        let is: Vec<_> = key.iter().map(|name| format!("{name} = {}", value(self, name))).collect();
        let (is, returning) = (is.join(" and "), " returning g, h, k as number");
        match settable.is_empty() || self.one_in(3) {
            true => format!("delete from t{table} where {is}{returning}"),
            false => {
                let (column, of) = self.random.of(settable).clone();
                let value = self.value_of(&column, of, own);
                format!("update t{table} set {} = {value} where {is}{returning}", column.name)
            }
        }
    }

    fn upsert(&mut self, table: usize, settable: &[(Column, &str)]) -> String {
        let key = self.schema.tables[table].key.join(", ");
        let first = self.random.below(100);
        let row = |of: &mut Self, key| of.schema.tables[table].row(of.random, key);
        let (a, b) = (row(self, first), row(self, first + 1));
        let act = match settable.is_empty() || self.one_in(3) {
            true => "do nothing".to_owned(),
            false => {
                let column = &self.random.of(settable).0.name;
                format!("do update set {column} = excluded.{column}")
            }
        };
        let returning = if self.one_in(2) { " returning k, g, h" } else { "" };
        format!("insert into t{table} values {a}, {b} on conflict ({key}) {act}{returning}")
    }

    fn merge(&mut self, table: usize, settable: &[(Column, &str)]) -> String {
        let columns = self.schema.tables[table].columns.clone();
        let names: Vec<_> = columns.iter().map(|(column, _)| column.name.clone()).collect();
        let key = self.schema.tables[table].key.clone();
        let first = self.random.below(100);
        let rows: Vec<_> =
            (first..first + 3).map(|key| self.schema.tables[table].row(self.random, key)).collect();
        let on: Vec<_> = key.iter().map(|column| format!("t{table}.{column} = s.{column}")).collect();
        let column = &self.random.of(settable).0.name;
        let typed: Vec<_> =
            columns.iter().map(|(column, of)| format!("cast({0} as {of}) as {0}", column.name)).collect();
        let values: Vec<_> = names.iter().map(|name| format!("s.{name}")).collect();
        let matched = match self.random.below(3) {
            0 => "delete".to_owned(),
            _ => format!("update set {column} = s.{column}"),
        };
        format!(
            "merge into t{table} using (select {} from (values {}) as v ({})) as s on {} when matched then {matched} \
             when not matched then insert ({}) values ({})",
            typed.join(", "),
            rows.join(", "),
            names.join(", "),
            on.join(" and "),
            names.join(", "),
            values.join(", ")
        )
    }
}
