//! Random expressions over columns in sight.

use super::{
    query::Generator,
    schema::{Column, Kind, literal},
};

impl Generator<'_> {
    /// An expression of a kind; the deeper, the simpler.
    pub fn expression(&mut self, kind: Kind, columns: &[Column], depth: usize) -> String {
        if kind == Kind::Bool {
            return self.condition(columns, depth);
        }
        if depth == 0 || self.one_in(3) {
            return self.leaf(kind, columns);
        }
        let depth = depth - 1;
        if self.one_in(4) {
            return self.either(kind, columns, depth);
        }
        if self.may_nest() && self.one_in(8) {
            return self.value_query(kind, columns);
        }
        match kind {
            Kind::Int => self.int(columns, depth),
            Kind::Double => self.double(columns, depth),
            Kind::Decimal => self.decimal(columns, depth),
            Kind::Text => self.text(columns, depth),
            Kind::Bool => self.condition(columns, depth),
            Kind::Date | Kind::Moment | Kind::Instant | Kind::Time => self.time(kind, columns, depth),
            Kind::List if self.one_in(3) => {
                format!("list_sort({})", self.expression(kind, columns, depth))
            }
            Kind::Blob | Kind::Uuid | Kind::List | Kind::Enum => self.leaf(kind, columns),
        }
    }

    /// A column of a kind, or a constant.
    pub fn leaf(&mut self, kind: Kind, columns: &[Column]) -> String {
        let of_kind: Vec<_> = columns.iter().filter(|column| column.kind == kind).collect();
        if !of_kind.is_empty() && !self.one_in(6) {
            return self.random.of(&of_kind).name.clone();
        }
        match self.one_in(12) {
            true => format!("cast(null as {})", type_of(kind)),
            false => literal(self.random, kind),
        }
    }

    fn either(&mut self, kind: Kind, columns: &[Column], depth: usize) -> String {
        let (left, right) = (self.expression(kind, columns, depth), self.expression(kind, columns, depth));
        match self.random.below(6) {
            0 => format!("coalesce({left}, {right})"),
            1 => format!("nullif({left}, {right})"),
            2 if !matches!(kind, Kind::Blob | Kind::Uuid | Kind::Enum) => {
                format!("greatest({left}, {right})")
            }
            3 if !matches!(kind, Kind::Blob | Kind::Uuid | Kind::Enum) => format!("least({left}, {right})"),
            4 => {
                let (of, is) = (self.leaf(Kind::Int, columns), self.random.below(9));
                format!("case {of} when {is} then {left} when {} then {right} end", is + 1)
            }
            _ => {
                let when = self.condition(columns, depth);
                format!("case when {when} then {left} else {right} end")
            }
        }
    }

    fn int(&mut self, columns: &[Column], depth: usize) -> String {
        let of = |of: &mut Self, kind| of.expression(kind, columns, depth);
        match self.random.below(19) {
            18 => format!(
                "struct_extract(json_transform(json_object('a', {}), '{{\"a\": \"BIGINT\"}}'), 'a')",
                self.leaf(Kind::Int, columns)
            ),
            0 => format!("({} + {})", of(self, Kind::Int), of(self, Kind::Int)),
            1 => format!("({} - {})", of(self, Kind::Int), of(self, Kind::Int)),
            2 => format!("({} * {})", self.leaf(Kind::Int, columns), self.random.below(5)),
            3 => format!("({} % {})", of(self, Kind::Int), 2 + self.random.below(5)),
            4 => format!("({} // {})", of(self, Kind::Int), 2 + self.random.below(5)),
            5 => format!("abs({})", of(self, Kind::Int)),
            6 => format!("length({})", of(self, Kind::Text)),
            7 => format!("cast({} as bigint)", of(self, Kind::Double)),
            8 => format!("cast({} as bigint)", self.leaf(Kind::Decimal, columns)),
            9 => format!("cast({} as int)", of(self, Kind::Bool)),
            10 => {
                let part = *self.random.of(&["year", "month", "day"]);
                let kind = *self.random.of(&[Kind::Date, Kind::Moment]);
                format!("cast(extract({part} from {}) as bigint)", of(self, kind))
            }
            11 => {
                // The distance of a day without end is no number.
                let finite = |day| format!("least(greatest({day}, date '0001-01-01'), date '9999-12-31')");
                let (from, to) = (self.leaf(Kind::Date, columns), self.leaf(Kind::Date, columns));
                format!("({} - {})", finite(to), finite(from))
            }
            12 => format!("strpos({}, {})", of(self, Kind::Text), self.leaf(Kind::Text, &[])),
            13 => format!("levenshtein({}, {})", of(self, Kind::Text), self.leaf(Kind::Text, columns)),
            14 => format!(
                "list_sum([x + {} for x in [1, 2, 3] if x > {}])::bigint",
                self.leaf(Kind::Int, columns),
                self.random.below(4)
            ),
            15 => format!("cast(json_object('k', {})->>'$.k' as bigint)", of(self, Kind::Int)),
            16 => format!("len({})", of(self, Kind::List)),
            _ => format!("(- {})", of(self, Kind::Int)),
        }
    }

    fn double(&mut self, columns: &[Column], depth: usize) -> String {
        let of = |of: &mut Self, kind| of.expression(kind, columns, depth);
        match self.random.below(9) {
            0 => format!("({} + {})", of(self, Kind::Double), of(self, Kind::Double)),
            1 => format!("({} - {})", of(self, Kind::Double), self.leaf(Kind::Decimal, &[])),
            2 => format!("({} * {})", of(self, Kind::Double), self.random.below(4)),
            3 => format!("({} / {})", of(self, Kind::Double), 1 << self.random.below(4)),
            4 => format!("cast({} as double)", of(self, Kind::Int)),
            5 => format!("cast({} as double)", of(self, Kind::Decimal)),
            6 => format!("abs({})", of(self, Kind::Double)),
            7 => format!(
                "{}({})",
                *self.random.of(&["floor", "ceil", "round"]),
                self.leaf(Kind::Double, columns)
            ),
            _ => format!("coalesce({}, {})", of(self, Kind::Double), self.leaf(Kind::Decimal, &[])),
        }
    }

    fn decimal(&mut self, columns: &[Column], depth: usize) -> String {
        let of = |of: &mut Self, kind| of.expression(kind, columns, depth);
        match self.random.below(9) {
            0 => format!("({} + {})", of(self, Kind::Decimal), of(self, Kind::Decimal)),
            1 => format!("({} - {})", of(self, Kind::Decimal), of(self, Kind::Decimal)),
            2 => format!("({} * {})", self.leaf(Kind::Decimal, columns), self.random.below(5)),
            3 => format!("abs({})", of(self, Kind::Decimal)),
            4 => format!("cast({} as decimal(12, 2))", of(self, Kind::Int)),
            5 => format!("cast({} as decimal(20, 1))", self.leaf(Kind::Decimal, columns)),
            6 => format!("coalesce({}, {})", of(self, Kind::Decimal), self.random.below(4)),
            7 => format!("(- {})", of(self, Kind::Decimal)),
            _ => {
                // DuckDB takes the digits behind the point away from what the result is united with.
                let places = self.random.below(3);
                format!("cast(round({}, {places}) as decimal(38, 4))", self.leaf(Kind::Decimal, columns))
            }
        }
    }

    fn text(&mut self, columns: &[Column], depth: usize) -> String {
        let of = |of: &mut Self, kind| of.expression(kind, columns, depth);
        match self.random.below(15) {
            0 | 1 => format!("({} || {})", of(self, Kind::Text), of(self, Kind::Text)),
            2 => format!("upper({})", of(self, Kind::Text)),
            3 => format!("lower({})", of(self, Kind::Text)),
            4 => {
                let (from, count) = (1 + self.random.below(3), self.random.below(3));
                format!("substr({}, {from}, {count})", of(self, Kind::Text))
            }
            5 => format!("trim({})", of(self, Kind::Text)),
            6 => format!("replace({}, 'a', {})", of(self, Kind::Text), self.leaf(Kind::Text, &[])),
            7 => format!("cast({} as text)", of(self, Kind::Int)),
            8 => format!("cast({} as text)", of(self, Kind::Bool)),
            9 => {
                let kind = *self.random.of(&[Kind::Date, Kind::Uuid, Kind::List, Kind::Enum]);
                format!("cast({} as text)", of(self, kind))
            }
            10 => format!("concat({}, '-', {})", of(self, Kind::Text), of(self, Kind::Text)),
            11 => format!("left({}, {})", of(self, Kind::Text), self.random.below(3)),
            12 => format!("json_extract_string(json_object('k', {}), '$.k')", of(self, Kind::Text)),
            13 => format!(
                "array_to_string(list_transform(string_split({}, 'a'), lambda x: x || coalesce({}, '')), '-')",
                of(self, Kind::Text),
                self.leaf(Kind::Text, columns)
            ),
            _ => format!("right({}, {})", of(self, Kind::Text), self.random.below(3)),
        }
    }

    fn time(&mut self, kind: Kind, columns: &[Column], depth: usize) -> String {
        let of = |of: &mut Self, kind| of.expression(kind, columns, depth);
        let unit = *self.random.of(&["day", "hour", "month", "year"]);
        match (kind, self.random.below(4)) {
            (Kind::Date, 0) => format!("({} + {})", self.leaf(kind, &[]), self.random.below(9)),
            (Kind::Date, 1) => format!("cast({} as date)", of(self, Kind::Moment)),
            (Kind::Moment, 0) => {
                // Far from the ends of what either has.
                format!("(least({}, timestamp '5000-01-01 00:00:00') + interval '3 {unit}')", of(self, kind))
            }
            (Kind::Moment, 1) => format!("date_trunc('{unit}', {})", of(self, kind)),
            (Kind::Moment, 2) => format!("cast({} as timestamp)", of(self, Kind::Date)),
            (Kind::Instant, 0) => format!("({} at time zone 'UTC')", self.leaf(Kind::Moment, columns)),
            (Kind::Time, 0) => format!("cast({} as time)", self.leaf(Kind::Moment, columns)),
            _ => self.leaf(kind, columns),
        }
    }
}

/// The type that a kind is cast to.
pub fn type_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "bigint",
        Kind::Double => "double",
        Kind::Decimal => "decimal(10, 2)",
        Kind::Text => "text",
        Kind::Bool => "boolean",
        Kind::Date => "date",
        Kind::Moment => "timestamp",
        Kind::Instant => "timestamptz",
        Kind::Time => "time",
        Kind::Blob => "blob",
        Kind::Uuid => "uuid",
        Kind::List => "bigint[]",
        Kind::Enum => "mood",
    }
}
