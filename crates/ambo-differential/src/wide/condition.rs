//! Random conditions over columns in sight.

use super::{
    query::{Generator, SET_OPERATORS},
    schema::{Column, Kind},
};

const ORDERED: [&str; 7] = ["=", "=", "<>", "<", "<=", ">", ">="];

impl Generator<'_> {
    /// A condition.
    pub fn condition(&mut self, columns: &[Column], depth: usize) -> String {
        if depth == 0 || self.one_in(3) {
            return self.comparison(columns, 0);
        }
        let below = depth - 1;
        let of = |of: &mut Self| of.condition(columns, below);
        match self.random.below(13) {
            0 | 1 => format!("({} and {})", of(self), of(self)),
            2 | 3 => format!("({} or {})", of(self), of(self)),
            4 => format!("(not {})", of(self)),
            5 => {
                let test =
                    *self.random.of(&["is true", "is not true", "is false", "is not false", "is null"]);
                format!("({} {test})", of(self))
            }
            6 | 7 if self.may_nest() => self.subquery_condition(columns),
            _ => self.comparison(columns, below),
        }
    }

    fn comparison(&mut self, columns: &[Column], depth: usize) -> String {
        let kind = self.kind_of(columns);
        let left = self.expression(kind, columns, depth);
        let not = if self.one_in(3) { "not " } else { "" };
        match self.random.below(10) {
            0 => format!("({left} is {not}null)"),
            1 => {
                let (low, high) = (self.leaf(kind, columns), self.leaf(kind, columns));
                format!("({left} {not}between {low} and {high})")
            }
            2 | 3 => {
                let count = 1 + self.random.below(4);
                let list: Vec<_> = (0..count).map(|_| self.leaf(kind, &[])).collect();
                format!("({left} {not}in ({}))", list.join(", "))
            }
            4 if kind == Kind::Text => {
                let pattern = *self.random.of(&["a%", "%b%", "%", "_b%", "%c", "x y", "a\\_b", "_", "%é%"]);
                // The backslash escapes here, and there only where that is said.
                let escape = if pattern.contains('\\') { " escape '\\'" } else { "" };
                format!("({left} {not}like '{pattern}'{escape})")
            }
            5 => format!("({left} is {not}distinct from {})", self.expression(kind, columns, depth)),
            6 if matches!(kind, Kind::Int | Kind::Double | Kind::Decimal) => {
                // Numbers of two types.
                let other = *self.random.of(&[Kind::Int, Kind::Double, Kind::Decimal]);
                let right = self.leaf(other, columns);
                format!("({left} {} {right})", self.random.of(&ORDERED))
            }
            // Both sides are compared as one of them says.
            7 if kind == Kind::Text => {
                let how = *self.random.of(&["nocase", "noaccent", "nocase.noaccent"]);
                match self.random.below(4) {
                    0 => format!(
                        "({left} collate {how} {not}in ({}, {}))",
                        self.leaf(kind, columns),
                        self.leaf(kind, &[])
                    ),
                    1 => {
                        let (low, high) = (self.leaf(kind, columns), self.leaf(kind, columns));
                        format!("({left} collate {how} {not}between {low} and {high})")
                    }
                    2 => format!("({left} is {not}distinct from {} collate {how})", self.leaf(kind, columns)),
                    _ => format!(
                        "({left} {} {} collate {how})",
                        self.random.of(&ORDERED),
                        self.leaf(kind, columns)
                    ),
                }
            }
            7 if kind == Kind::Date => {
                format!("({left} {} {})", self.random.of(&ORDERED), self.leaf(Kind::Moment, columns))
            }
            _ => {
                let right = self.expression(kind, columns, depth);
                format!("({left} {} {right})", self.random.of(&ORDERED))
            }
        }
    }

    /// A kind that one of the columns has, mostly.
    pub fn kind_of(&mut self, columns: &[Column]) -> Kind {
        let fit: Vec<_> =
            columns.iter().map(|column| column.kind).filter(|kind| *kind != Kind::Bool).collect();
        match fit.is_empty() || self.one_in(8) {
            true => *self.random.of(&[Kind::Int, Kind::Text, Kind::Decimal, Kind::Double, Kind::Date]),
            false => *self.random.of(&fit),
        }
    }

    /// EXISTS, IN, ANY, ALL, or a comparison with the only value of a query.
    fn subquery_condition(&mut self, outer: &[Column]) -> String {
        let not = if self.one_in(2) { "not " } else { "" };
        let kind = self.kind_of(outer);
        match self.random.below(6) {
            0 | 1 => format!("({not}exists ({}))", self.inner_query(kind, outer)),
            2 => {
                let left = self.expression(kind, outer, 1);
                format!("({left} {not}in ({}))", self.inner_query(kind, outer))
            }
            3 => {
                let left = self.expression(kind, outer, 0);
                let (operator, which) = (*self.random.of(&ORDERED), *self.random.of(&["any", "all"]));
                format!("({left} {operator} {which} ({}))", self.inner_query(kind, outer))
            }
            _ => {
                let left = self.expression(kind, outer, 1);
                let right = self.value_query(kind, outer);
                format!("({left} {} {right})", self.random.of(&ORDERED))
            }
        }
    }

    /// A query of one column for each row of others: of one table with simple conditions, or of anything.
    fn inner_query(&mut self, kind: Kind, outer: &[Column]) -> String {
        self.nested += 1;
        let mut query = match self.random.below(4) {
            0 => self.select(&[kind], outer, &[]),
            1 if self.one_in(2) => {
                let operator = *self.random.of(&SET_OPERATORS);
                let (left, right) = (self.select(&[kind], outer, &[]), self.select(&[kind], outer, &[]));
                format!("{left} {operator} {right}")
            }
            way => self.simple_query(kind, outer, way == 2),
        };
        if self.one_in(5) {
            let (rows, first) = (self.random.below(4), self.random.below(3));
            query =
                format!("select * from ({query}) as v order by 1 nulls first limit {rows} offset {first}");
        }
        self.nested -= 1;
        query
    }

    /// `(SELECT …)` of one row at most.
    pub fn value_query(&mut self, kind: Kind, outer: &[Column]) -> String {
        if self.one_in(2) && kind != Kind::Bool {
            self.nested += 1;
            let query = self.simple_query(kind, outer, true);
            self.nested -= 1;
            return format!("({query})");
        }
        format!("(select * from ({}) as v order by 1 nulls first limit 1)", self.inner_query(kind, outer))
    }

    /// Of one table, maybe by an equal value; a column of it, or one value of all.
    fn simple_query(&mut self, kind: Kind, outer: &[Column], is_value: bool) -> String {
        let name = self.name("y");
        let table = self.table();
        let own = self.schema.tables[table].columns_under(&name);
        let depth = self.random.below(2) as usize;
        let mut filter = self.condition(&own, depth);
        let shared = self.kind_of(outer);
        if !outer.is_empty() && self.one_in(2) {
            filter = format!("{} = {} and {filter}", self.leaf(shared, &own), self.leaf(shared, outer));
        }
        let item = match is_value {
            true => self.aggregate(kind, &own),
            false => self.leaf(kind, &own),
        };
        format!("select {item} as c0 from t{table} as {name} where {filter}")
    }
}
