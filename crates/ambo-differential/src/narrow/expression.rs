//! Random expressions over columns in sight.

use super::query::Generator;
use super::schema::{Kind, TEXTS};

/// A column in sight.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
}

impl Generator<'_> {
    /// An expression of a kind; the deeper, the simpler.
    pub fn expression(&mut self, kind: Kind, columns: &[Column], depth: usize) -> String {
        match kind {
            Kind::Int => self.int(columns, depth),
            Kind::Text => self.text(columns, depth),
            Kind::Bool => self.condition(columns, depth),
        }
    }

    /// A column of a kind, or a constant.
    fn leaf(&mut self, kind: Kind, columns: &[Column]) -> String {
        let of_kind: Vec<_> = columns.iter().filter(|column| column.kind == kind).collect();
        if !of_kind.is_empty() && !self.one_in(5) {
            return of_kind[self.random.below(of_kind.len() as u64) as usize].name.clone();
        }
        match kind {
            Kind::Int if self.one_in(8) => "nullif(1, 1)".into(),
            Kind::Text if self.one_in(8) => "nullif('a', 'a')".into(),
            Kind::Int => (self.random.below(14) as i64 - 3).to_string(),
            Kind::Text => format!("'{}'", TEXTS[self.random.below(TEXTS.len() as u64) as usize]),
            Kind::Bool => format!("{} = {}", self.random.below(2), self.random.below(2)),
        }
    }

    fn either(&mut self, kind: Kind, columns: &[Column], depth: usize) -> String {
        let (left, right) = (self.expression(kind, columns, depth), self.expression(kind, columns, depth));
        match self.random.below(4) {
            0 => format!("coalesce({left}, {right})"),
            1 => format!("nullif({left}, {right})"),
            2 => {
                let when = self.condition(columns, depth);
                format!("case when {when} then {left} else {right} end")
            }
            _ => {
                let (of, is) = (self.leaf(Kind::Int, columns), self.random.below(9));
                format!("case {of} when {is} then {left} when {} then {right} end", is + 1)
            }
        }
    }

    fn int(&mut self, columns: &[Column], depth: usize) -> String {
        if depth == 0 || self.one_in(3) {
            return self.leaf(Kind::Int, columns);
        }
        let depth = depth - 1;
        match self.random.below(9) {
            0 => format!("({} + {})", self.int(columns, depth), self.int(columns, depth)),
            1 => format!("({} - {})", self.int(columns, depth), self.int(columns, depth)),
            2 => format!("({} * {})", self.leaf(Kind::Int, columns), self.random.below(5)),
            3 => format!("({} % {})", self.int(columns, depth), 2 + self.random.below(5)),
            4 => format!("({} / {})", self.int(columns, depth), 2 + self.random.below(5)),
            5 => format!("abs({})", self.int(columns, depth)),
            6 => format!("length({})", self.text(columns, depth)),
            7 if self.may_nest() && self.one_in(2) => self.value_query(Kind::Int, columns),
            _ => self.either(Kind::Int, columns, depth),
        }
    }

    fn text(&mut self, columns: &[Column], depth: usize) -> String {
        if depth == 0 || self.one_in(2) {
            return self.leaf(Kind::Text, columns);
        }
        let depth = depth - 1;
        match self.random.below(6) {
            0 => format!("({} || {})", self.text(columns, depth), self.text(columns, depth)),
            1 => format!("upper({})", self.text(columns, depth)),
            2 => format!("lower({})", self.text(columns, depth)),
            3 => {
                let (from, count) = (1 + self.random.below(3), self.random.below(3));
                format!("substr({}, {from}, {count})", self.text(columns, depth))
            }
            4 if self.may_nest() && self.one_in(2) => self.value_query(Kind::Text, columns),
            _ => self.either(Kind::Text, columns, depth),
        }
    }

    /// A condition.
    pub fn condition(&mut self, columns: &[Column], depth: usize) -> String {
        let kind = if self.one_in(3) { Kind::Text } else { Kind::Int };
        if depth == 0 || self.one_in(3) {
            return self.comparison(kind, columns, 0);
        }
        let below = depth - 1;
        match self.random.below(11) {
            0 | 1 => format!("({} and {})", self.condition(columns, below), self.condition(columns, below)),
            2 | 3 => format!("({} or {})", self.condition(columns, below), self.condition(columns, below)),
            4 => format!("(not {})", self.condition(columns, below)),
            5 | 6 if self.may_nest() => self.subquery_condition(columns),
            _ => self.comparison(kind, columns, below),
        }
    }

    fn comparison(&mut self, kind: Kind, columns: &[Column], depth: usize) -> String {
        let left = self.expression(kind, columns, depth);
        let not = if self.one_in(3) { "not " } else { "" };
        match self.random.below(8) {
            0 => format!("({left} is {not}null)"),
            1 => {
                let (low, high) = (self.leaf(kind, columns), self.leaf(kind, columns));
                format!("({left} {not}between {low} and {high})")
            }
            2 => {
                let count = 1 + self.random.below(4);
                let list: Vec<_> = (0..count).map(|_| self.leaf(kind, &[])).collect();
                format!("({left} {not}in ({}))", list.join(", "))
            }
            3 if kind == Kind::Text => {
                let pattern = ["a%", "%b%", "%", "_b%", "%c", "x y"][self.random.below(6) as usize];
                format!("({left} {not}like '{pattern}')")
            }
            4 => format!("({left} is {not}distinct from {})", self.expression(kind, columns, depth)),
            _ => {
                let operator = ["=", "=", "<>", "<", "<=", ">", ">="][self.random.below(7) as usize];
                format!("({left} {operator} {})", self.expression(kind, columns, depth))
            }
        }
    }
}
