//! Random queries.

use super::schema::{Column, Kind, Schema};
use crate::random::Random;

/// Queries within queries.
const NESTED_MAX: usize = 2;

pub const SET_OPERATORS: [&str; 6] =
    ["union", "union all", "intersect", "except", "intersect all", "except all"];

/// A query that has a name, and its columns.
pub type Known = (String, Vec<Column>);

/// Makes one statement.
pub struct Generator<'r> {
    pub schema: &'r Schema,
    pub random: &'r mut Random,
    names: usize,
    pub nested: usize,
    /// The table that the statement changes: no query asks for it.
    pub written: Option<usize>,
}

/// What is in FROM: its text, and the columns in sight.
pub struct From {
    pub text: String,
    pub columns: Vec<Column>,
}

impl<'r> Generator<'r> {
    pub fn new(schema: &'r Schema, random: &'r mut Random) -> Self {
        Self { schema, random, names: 0, nested: 0, written: None }
    }

    pub fn one_in(&mut self, chances: u64) -> bool {
        self.random.one_in(chances)
    }

    pub fn may_nest(&self) -> bool {
        self.nested < NESTED_MAX
    }

    pub fn name(&mut self, begin: &str) -> String {
        self.names += 1;
        format!("{begin}{}", self.names)
    }

    pub fn table(&mut self) -> usize {
        let tables = self.schema.tables.len();
        let table = self.random.below(tables as u64) as usize;
        if self.written == Some(table) { (table + 1) % tables } else { table }
    }

    pub fn pick(&mut self, columns: &[Column]) -> Column {
        self.random.of(columns).clone()
    }

    fn any_kind(&mut self) -> Kind {
        let table = self.table();
        let columns = &self.schema.tables[table].columns;
        self.random.of(columns).0.kind
    }

    /// A query, and whether the order of its rows is said.
    pub fn query(&mut self) -> (String, bool) {
        let kinds: Vec<_> = (0..1 + self.random.below(4)).map(|_| self.any_kind()).collect();
        let mut with = String::new();
        let mut known = Vec::new();
        if self.one_in(12) {
            let (table, columns) = self.recursive();
            with = format!("with recursive {table} ");
            known.push((columns[0].name.split('.').next().unwrap_or_default().to_owned(), columns));
        } else if self.one_in(4) {
            let name = self.name("w");
            let inner: Vec<_> = (0..3).map(|_| self.any_kind()).collect();
            let (body, columns) = self.named_select(&inner, &name, &[], &[]);
            with = format!("with {name} as ({body}) ");
            known.push((name, columns));
        }
        let body = match self.one_in(4) {
            true => {
                let operator = *self.random.of(&SET_OPERATORS);
                let (left, right) = (self.select(&kinds, &[], &known), self.select(&kinds, &[], &known));
                format!("{left} {operator} {right}")
            }
            false => self.select(&kinds, &[], &known),
        };
        if !self.one_in(3) {
            return (with + &body, false);
        }
        let order = self.order_of_places(kinds.len());
        let limit = match self.random.below(4) {
            0 => String::new(),
            1 => format!(" offset {}", self.random.below(20)),
            2 => format!(" limit {}", self.random.below(20)),
            _ => format!(" limit {} offset {}", self.random.below(20), self.random.below(5)),
        };
        match self.one_in(3) {
            // The order within counts.
            true => (format!("select * from ({with}{body} order by {order}) as o{limit}"), true),
            false => (format!("{with}{body} order by {order}{limit}"), true),
        }
    }

    /// A table that recurses, and its columns: a number that grows, and what is computed of the row before.
    fn recursive(&mut self) -> (String, Vec<Column>) {
        let name = self.name("w");
        let (kind, next) = *self.random.of(&[
            (Kind::Int, "c1 * 2 - c0"),
            (Kind::Int, "case when c0 % 2 = 0 then c1 + 1 end"),
            (Kind::Text, "c1 || '.'"),
            (Kind::Date, "c1 + 1"),
            (Kind::Bool, "not c1"),
        ]);
        let (first, until) = (self.expression(kind, &[], 1), 2 + self.random.below(8));
        let (first, all) = match kind {
            // As wide as what is computed of it.
            Kind::Int => (format!("cast({first} as bigint)"), self.one_in(2)),
            _ => (first, self.one_in(2)),
        };
        let union = if all { "union all" } else { "union" };
        let own = [Kind::Int, kind].into_iter().enumerate();
        let columns = own.map(|(nth, kind)| Column { name: format!("{name}.c{nth}"), kind }).collect();
        let body = format!(
            "{name} (c0, c1) as (select cast(1 as bigint), {first} {union} select c0 + 1, {next} from {name} where c0 < {until})"
        );
        (body, columns)
    }

    /// All columns, in an order of theirs, so that rows that tie are the same.
    fn order_of_places(&mut self, count: usize) -> String {
        let first = self.random.below(count as u64) as usize;
        let mut places: Vec<_> = (0..count).map(|place| (first + place) % count + 1).collect();
        if self.one_in(2) {
            places.reverse();
        }
        let way = |random: &mut Random| {
            *random.of(&["nulls first", "desc nulls last", "nulls last", "desc nulls first"])
        };
        let places = places.into_iter().map(|place| format!("{place} {}", way(self.random)));
        places.collect::<Vec<_>>().join(", ")
    }

    /// A SELECT of columns of these kinds, called c0, c1, … `outer` is in sight from outside, `known` are queries with names.
    pub fn select(&mut self, kinds: &[Kind], outer: &[Column], known: &[Known]) -> String {
        let From { text, columns: own } = self.from(known, outer);
        let sight: Vec<_> = own.iter().chain(outer).cloned().collect();
        let filter = match self.one_in(3) {
            true => String::new(),
            false => format!(" where {}", self.condition(&sight, 3)),
        };
        match self.random.below(8) {
            0 | 1 => self.grouped(kinds, &own, outer, &text, &filter),
            2 => self.grouping_sets(kinds, &own, &text, &filter),
            3 => self.windowed(kinds, &own, &text, &filter),
            4 => self.distinct_on(kinds, &own, &text, &filter),
            way => {
                let items: Vec<_> = kinds.iter().map(|kind| self.expression(*kind, &sight, 2)).collect();
                let distinct = if way == 5 { "distinct " } else { "" };
                format!("select {distinct}{} from {text}{filter}", aliased(&items))
            }
        }
    }

    fn distinct_on(&mut self, kinds: &[Kind], own: &[Column], from: &str, filter: &str) -> String {
        let items: Vec<_> = kinds.iter().map(|kind| self.expression(*kind, own, 1)).collect();
        let by = self.pick(own).name;
        // All columns, so that rows that tie are the same.
        let order: Vec<_> = own.iter().map(|column| format!("{} nulls last", column.name)).collect();
        format!(
            "select * from (select distinct on ({by}) {} from {from}{filter} order by {by} nulls last, {}) as q",
            aliased(&items),
            order.join(", ")
        )
    }

    fn grouped(
        &mut self,
        kinds: &[Kind],
        own: &[Column],
        outer: &[Column],
        from: &str,
        filter: &str,
    ) -> String {
        let by: Vec<_> = (0..self.random.below(3)).map(|_| self.pick(own)).collect();
        let items: Vec<_> = kinds.iter().map(|kind| self.group_item(*kind, &by, own)).collect();
        if by.is_empty() {
            return format!("select {} from {from}{filter}", aliased(&items));
        }
        let having = match self.random.below(6) {
            0 | 1 => format!(" having {}", self.aggregate(Kind::Bool, own)),
            2 if !outer.is_empty() => {
                let (left, right) = (self.aggregate(Kind::Int, own), self.leaf(Kind::Int, outer));
                format!(" having {left} >= {right}")
            }
            _ => String::new(),
        };
        format!("select {} from {from}{filter} group by {}{having}", aliased(&items), names(&by))
    }

    fn grouping_sets(&mut self, kinds: &[Kind], own: &[Column], from: &str, filter: &str) -> String {
        let (a, b) = (self.pick(own), self.pick(own));
        let by = match a.name == b.name {
            true => vec![a.clone()],
            false => vec![a.clone(), b.clone()],
        };
        let sets = match self.random.below(4) {
            0 => format!("rollup ({})", names(&by)),
            1 => format!("cube ({})", names(&by)),
            2 => format!("grouping sets (({}), ())", names(&by)),
            _ => format!("grouping sets (({}), ({}), ())", names(&by), a.name),
        };
        let items: Vec<_> = kinds
            .iter()
            .map(|kind| match kind {
                Kind::Int if self.one_in(4) => format!("grouping({})", a.name),
                kind => self.group_item(*kind, &by, own),
            })
            .collect();
        let having = if self.one_in(4) {
            format!(" having {}", self.aggregate(Kind::Bool, own))
        } else {
            String::new()
        };
        format!("select {} from {from}{filter} group by {sets}{having}", aliased(&items))
    }

    fn group_item(&mut self, kind: Kind, by: &[Column], own: &[Column]) -> String {
        match by.iter().find(|column| column.kind == kind) {
            Some(column) if self.one_in(2) => column.name.clone(),
            _ => self.aggregate(kind, own),
        }
    }

    pub fn aggregate(&mut self, kind: Kind, own: &[Column]) -> String {
        let distinct = if self.one_in(4) { "distinct " } else { "" };
        let filter = match kind != Kind::Bool && self.one_in(5) {
            true => format!(" filter (where {})", self.comparison_of(own)),
            false => String::new(),
        };
        let extreme = *self.random.of(&["min", "max"]);
        if matches!(kind, Kind::Int | Kind::Decimal | Kind::Text | Kind::Date) && self.one_in(8) {
            return self.chosen(kind, extreme, own);
        }
        match (kind, self.random.below(6)) {
            (Kind::Int, 0) => format!("count(*){filter}"),
            (Kind::Int, 1 | 2) => {
                let kind = self.kind_of(own);
                if kind == Kind::Text && self.one_in(3) {
                    return format!(
                        "count({distinct}{} collate nocase){filter}",
                        self.expression(kind, own, 1)
                    );
                }
                format!("count({distinct}{}){filter}", self.expression(kind, own, 1))
            }
            (Kind::Int, 3) => {
                format!("cast(sum({distinct}{}) {filter} as bigint)", self.expression(kind, own, 1))
            }
            (Kind::Int | Kind::Text | Kind::Date, 4) => {
                format!("quantile_disc({distinct}{}, 0.3){filter}", self.expression(kind, own, 1))
            }
            (Kind::Double, 2) => {
                format!("quantile_cont({distinct}{}, 0.25){filter}", self.expression(Kind::Int, own, 1))
            }
            (Kind::Double, 3) => format!("mad({distinct}{}){filter}", self.expression(Kind::Int, own, 1)),
            // DuckDB takes digits away where it unites a decimal of 38 digits with one that has fewer behind the point.
            (Kind::Decimal, 0 | 1) => {
                format!("cast(sum({distinct}{}){filter} as decimal(38, 4))", self.expression(kind, own, 1))
            }
            (Kind::Double, 0) => format!("avg({distinct}{}){filter}", self.expression(Kind::Int, own, 1)),
            (Kind::Double, 1) => format!("sum({}){filter}", self.expression(kind, own, 1)),
            (Kind::Bool, 0) => format!("bool_and({})", self.comparison_of(own)),
            (Kind::Bool, 1) => format!("bool_or({})", self.comparison_of(own)),
            (Kind::Bool, _) => {
                let (left, than) = (self.aggregate(Kind::Int, own), self.random.below(30));
                format!("({left} {} {than})", self.random.of(&["<", ">", "<>"]))
            }
            (kind, _) => format!("{extreme}({}){filter}", self.expression(kind, own, 1)),
        }
    }

    /// An aggregate of columns that a condition, mostly of another table, chooses.
    fn chosen(&mut self, kind: Kind, extreme: &str, own: &[Column]) -> String {
        let by = self.pick(own);
        let test = match self.one_in(2) {
            true => format!("{} is null", by.name),
            false => format!("{} = {}", by.name, self.leaf(by.kind, &[])),
        };
        let (then, sums) =
            (self.leaf(kind, own), matches!(kind, Kind::Int | Kind::Decimal) && self.one_in(2));
        let otherwise = match self.random.below(3) {
            0 if sums => " else 0".to_owned(),
            1 => format!(" when {} is not null then {}", self.pick(own).name, self.leaf(kind, own)),
            _ => String::new(),
        };
        let case = format!("case when {test} then {then}{otherwise} end");
        match (sums, kind) {
            (true, Kind::Decimal) => format!("cast(sum({case}) as decimal(38, 4))"),
            (true, _) => format!("cast(sum({case}) as bigint)"),
            (false, _) => format!("{extreme}({case})"),
        }
    }

    fn comparison_of(&mut self, own: &[Column]) -> String {
        self.nested += NESTED_MAX;
        let condition = self.condition(own, 1);
        self.nested -= NESTED_MAX;
        condition
    }

    /// A SELECT whose columns are in sight under the name of a table.
    fn named_select(
        &mut self,
        kinds: &[Kind],
        table: &str,
        known: &[Known],
        outer: &[Column],
    ) -> (String, Vec<Column>) {
        self.nested += 1;
        let body = self.select(kinds, outer, known);
        self.nested -= 1;
        let column = |(nth, kind): (usize, &Kind)| Column { name: format!("{table}.c{nth}"), kind: *kind };
        (body, kinds.iter().enumerate().map(column).collect())
    }

    fn relation(&mut self, known: &[Known], outer: &[Column]) -> From {
        let name = self.name("x");
        if let Some((table, columns)) = known.first()
            && !self.one_in(3)
        {
            let plain = |column: &Column| column.name.rsplit('.').next().unwrap_or_default().to_owned();
            let columns = columns
                .iter()
                .map(|column| Column { name: format!("{name}.{}", plain(column)), kind: column.kind });
            return From { text: format!("{table} as {name}"), columns: columns.collect() };
        }
        if self.may_nest() && self.one_in(if outer.is_empty() { 6 } else { 3 }) {
            let kinds: Vec<_> = (0..3).map(|_| self.any_kind()).collect();
            let (body, columns) = self.named_select(&kinds, &name, known, outer);
            return From { text: format!("({body}) as {name}"), columns };
        }
        let table = self.table();
        let columns = self.schema.tables[table].columns_under(&name);
        if self.one_in(12) {
            return From { text: format!("query_table('t{table}') as {name}"), columns };
        }
        From { text: format!("t{table} as {name}"), columns }
    }

    pub fn from(&mut self, known: &[Known], outer: &[Column]) -> From {
        let mut from = self.relation(known, outer);
        let most = if self.nested == 0 { 3 } else { 2 };
        for _ in 1..1 + self.random.below(most) {
            let join = *self.random.of(&[
                "join",
                "join",
                "left join",
                "right join",
                "full join",
                "cross join",
                "cross join lateral",
            ]);
            if join == "cross join lateral" && self.may_nest() {
                let name = self.name("x");
                let kinds: Vec<_> = (0..2).map(|_| self.any_kind()).collect();
                let (body, columns) = self.named_select(&kinds, &name, known, &from.columns);
                let all = from.columns.iter().cloned().chain(columns).collect();
                from = From { text: format!("{} {join} ({body}) as {name}", from.text), columns: all };
                continue;
            }
            let join = if join == "cross join lateral" { "join" } else { join };
            let right = self.relation(known, outer);
            if let Some(common) = self.in_common(&from.columns, &right.columns)
                && join != "cross join"
            {
                let columns = from.columns.into_iter().chain(right.columns).collect();
                from =
                    From { text: format!("{} {join} {} using ({common})", from.text, right.text), columns };
                continue;
            }
            let columns: Vec<_> = from.columns.iter().chain(&right.columns).cloned().collect();
            let on = match join {
                "cross join" => String::new(),
                _ => {
                    let all: Vec<_> = columns.iter().chain(outer).cloned().collect();
                    format!(" on {}", self.join_condition(&from.columns, &right.columns, &all))
                }
            };
            from = From { text: format!("{} {join} {}{on}", from.text, right.text), columns };
        }
        from
    }

    /// Names that stand once on each side of a join, sometimes.
    fn in_common(&mut self, left: &[Column], right: &[Column]) -> Option<String> {
        if !self.one_in(6) {
            return None;
        }
        let plain = |column: &Column| column.name.rsplit('.').next().unwrap_or_default().to_owned();
        let count = |of: &[Column], name: &str| of.iter().filter(|column| plain(column) == name).count();
        let kind =
            |of: &[Column], name: &str| of.iter().find(|column| plain(column) == name).map(|of| of.kind);
        let mut names: Vec<_> = left.iter().map(plain).filter(|name| count(left, name) == 1).collect();
        names.retain(|name| count(right, name) == 1 && kind(left, name) == kind(right, name));
        if names.is_empty() {
            return None;
        }
        let first = self.random.below(names.len() as u64) as usize;
        names.rotate_left(first);
        names.truncate(1 + self.random.below(2) as usize);
        Some(names.join(", "))
    }

    fn join_condition(&mut self, left: &[Column], right: &[Column], all: &[Column]) -> String {
        let pairs: Vec<_> = left
            .iter()
            .flat_map(|left| right.iter().map(move |right| (left, right)))
            .filter(|(left, right)| left.kind == right.kind && left.kind != Kind::Bool)
            .map(|(left, right)| format!("{} = {}", left.name, right.name))
            .collect();
        if pairs.is_empty() {
            return "true".into();
        }
        let equal = self.random.of(&pairs).clone();
        match self.random.below(8) {
            0 => self.comparison_of(all),
            1 | 2 => format!("{equal} and {}", self.comparison_of(all)),
            3 | 4 => format!("{equal} and {}", self.random.of(&pairs)),
            5 => equal.replacen(" = ", " is not distinct from ", 1),
            _ => equal,
        }
    }
}

fn names(columns: &[Column]) -> String {
    columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// A select list under the names c0, c1, …
pub fn aliased(items: &[String]) -> String {
    let item = |(nth, item): (usize, &String)| format!("{item} as c{nth}");
    items.iter().enumerate().map(item).collect::<Vec<_>>().join(", ")
}
