//! Random queries and statements that write.

use super::expression::Column;
use super::schema::{COLUMNS, GIVEN, Kind, Schema, row};
use crate::random::Random;

/// Queries within queries.
const NESTED_MAX: usize = 2;

/// Makes one statement.
pub struct Generator<'r> {
    schema: &'r Schema,
    pub random: &'r mut Random,
    /// Names that were given.
    names: usize,
    nested: usize,
    /// The table that the statement changes. No query asks for it: SQLite shows it what the statement changed so far.
    written: Option<u64>,
}

/// What is in FROM: its text, and the columns in sight.
struct From {
    text: String,
    columns: Vec<Column>,
}

impl<'r> Generator<'r> {
    pub fn new(schema: &'r Schema, random: &'r mut Random) -> Self {
        Self { schema, random, names: 0, nested: 0, written: None }
    }

    pub fn one_in(&mut self, chances: u64) -> bool {
        self.random.below(chances) == 0
    }

    pub fn may_nest(&self) -> bool {
        self.nested < NESTED_MAX
    }

    fn name(&mut self, begin: &str) -> String {
        self.names += 1;
        format!("{begin}{}", self.names)
    }

    /// A name for a table of a query, and the columns from outside that it leaves in sight: now and then it is the name of a table there.
    fn inner_name(&mut self, outer: &[Column]) -> (String, Vec<Column>) {
        if outer.is_empty() || !self.one_in(4) {
            return (self.name("x"), outer.to_vec());
        }
        let table = |column: &Column| column.name.split('.').next().unwrap_or_default().to_owned();
        let name = table(&self.pick(outer));
        let others = outer.iter().filter(|column| table(column) != name).cloned().collect();
        (name, others)
    }

    pub fn table(&mut self) -> u64 {
        let tables = self.schema.tables.len() as u64;
        let table = self.random.below(tables);
        if self.written == Some(table) { (table + 1) % tables } else { table }
    }

    fn kind(&mut self) -> Kind {
        [Kind::Int, Kind::Int, Kind::Text, Kind::Bool][self.random.below(4) as usize]
    }

    /// A query, and whether the order of its rows is said.
    pub fn query(&mut self) -> (String, bool) {
        let kinds: Vec<_> = (0..1 + self.random.below(4)).map(|_| self.kind()).collect();
        let mut with = String::new();
        let mut known = Vec::new();
        if self.one_in(5) {
            let name = self.name("w");
            let inner = [Kind::Int, Kind::Int, Kind::Text];
            let (body, columns) = self.named_select(&inner, &name, &[], &[]);
            with = format!("with {name} as ({body}) ");
            known.push((name, columns));
        }
        let body = match self.one_in(5) {
            true => {
                let operator = ["union", "union all", "intersect", "except"][self.random.below(4) as usize];
                let (left, right) = (self.select(&kinds, &[], &known), self.select(&kinds, &[], &known));
                format!("{left} {operator} {right}")
            }
            false => self.select(&kinds, &[], &known),
        };
        if !self.one_in(3) {
            return (with + &body, false);
        }
        let by: Vec<_> = (1..=kinds.len())
            .map(|place| {
                format!("{place} {}", ["nulls first", "desc nulls last"][self.random.below(2) as usize])
            })
            .collect();
        let limit = match self.random.below(3) {
            0 => String::new(),
            1 => format!(" limit {}", self.random.below(20)),
            _ => format!(" limit {} offset {}", self.random.below(20), self.random.below(5)),
        };
        (format!("{with}{body} order by {}{limit}", by.join(", ")), true)
    }

    /// A SELECT of columns of these kinds. `outer` is in sight from outside, `known` are tables with names.
    fn select(&mut self, kinds: &[Kind], outer: &[Column], known: &[(String, Vec<Column>)]) -> String {
        let (name, outer) = self.inner_name(outer);
        let outer = &outer[..];
        let From { text, columns: own } = self.from(name, known, outer);
        let sight: Vec<_> = own.iter().chain(outer).cloned().collect();
        let filter = match self.one_in(3) {
            true => String::new(),
            false => format!(" where {}", self.condition(&sight, 3)),
        };
        match self.random.below(6) {
            0 | 1 => self.grouped(kinds, &own, outer, &text, &filter),
            2 => self.windowed(kinds, &own, &text, &filter),
            way => {
                let items: Vec<_> = kinds.iter().map(|kind| self.expression(*kind, &sight, 2)).collect();
                let distinct = if way == 3 { "distinct " } else { "" };
                format!("select {distinct}{} from {text}{filter}", aliased(&items))
            }
        }
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
        let item = |of: &mut Self, kind: Kind| match kind {
            Kind::Int if of.one_in(4) && by.iter().any(|column| column.kind == Kind::Int) => by
                .iter()
                .find(|column| column.kind == Kind::Int)
                .map(|column| column.name.clone())
                .unwrap_or_default(),
            kind => of.aggregate(kind, own),
        };
        let items: Vec<_> = kinds.iter().map(|kind| item(self, *kind)).collect();
        let having = match self.one_in(3) {
            true => format!(" having {}", self.group_condition(own, outer)),
            false => String::new(),
        };
        let names: Vec<_> = by.iter().map(|column| column.name.as_str()).collect();
        match by.is_empty() {
            true => format!("select {} from {from}{filter}", aliased(&items)),
            false => format!(
                "select {} from {from}{filter} group by {}{having}",
                aliased(&items),
                names.join(", ")
            ),
        }
    }

    fn group_condition(&mut self, own: &[Column], outer: &[Column]) -> String {
        if outer.is_empty() || self.one_in(2) {
            return self.aggregate(Kind::Bool, own);
        }
        let (left, right) = (self.aggregate(Kind::Int, own), self.expression(Kind::Int, outer, 0));
        format!("({left} {} {right})", ["<", "=", ">="][self.random.below(3) as usize])
    }

    fn aggregate(&mut self, kind: Kind, own: &[Column]) -> String {
        let distinct = if self.one_in(4) { "distinct " } else { "" };
        let filter = match kind != Kind::Bool && self.one_in(5) {
            true => format!(" filter (where {})", self.expression(Kind::Bool, own, 1)),
            false => String::new(),
        };
        match kind {
            Kind::Int => {
                let of = self.expression(Kind::Int, own, 1);
                match self.random.below(7) {
                    0 => format!("count(*){filter}"),
                    1 => format!("count({distinct}{of}){filter}"),
                    2 => format!("sum({distinct}{of}){filter}"),
                    3 => format!("min({of}){filter}"),
                    4 => format!("max({of}){filter}"),
                    // Doubles that both compute alike, for the sums are small.
                    5 => {
                        // Not as a number: SQLite cuts where Ambo rounds.
                        let mean = format!("avg({of}){filter}");
                        format!("case when {mean} * 8 >= 20 then 1 when {mean} * 8 < 20 then 0 end")
                    }
                    _ => format!("count({distinct}{}){filter}", self.expression(Kind::Text, own, 1)),
                }
            }
            Kind::Text => {
                let of = self.expression(Kind::Text, own, 1);
                format!("{}({of}){filter}", ["min", "max"][self.random.below(2) as usize])
            }
            Kind::Bool => {
                let (left, than) = (self.aggregate(Kind::Int, own), self.random.below(30));
                let operator = ["<", ">", "<>"][self.random.below(3) as usize];
                format!("({left} {operator} {than})")
            }
        }
    }

    fn windowed(&mut self, kinds: &[Kind], own: &[Column], from: &str, filter: &str) -> String {
        // All columns, so that rows that tie are the same.
        let order: Vec<_> = own.iter().map(|column| format!("{} nulls first", column.name)).collect();
        let order = order.join(", ");
        let mut items = Vec::new();
        // Rows that tie may stand in another order in each window, so only one of them may look at that.
        let mut by_order = true;
        for kind in kinds {
            let part = match self.one_in(2) {
                true => format!("partition by {}", self.pick(own).name),
                false => String::new(),
            };
            let of = self.expression(*kind, own, 1);
            let way = self.random.below(7);
            let is_by_order = matches!(way, 0 | 4 | 5);
            let way = if is_by_order && !std::mem::take(&mut by_order) { 6 } else { way };
            items.push(match (kind, way) {
                (Kind::Int, 0) => format!("row_number() over ({part} order by {order})"),
                (Kind::Int, 1) => format!("sum({of}) over ({part})"),
                (Kind::Int, 2) => format!("count({of}) over ({part} order by {order})"),
                (Kind::Int, 3) => {
                    format!("dense_rank() over ({part} order by {} nulls first)", self.pick(own).name)
                }
                (Kind::Int | Kind::Text, 4) => format!("lag({of}) over ({part} order by {order})"),
                (Kind::Int | Kind::Text, 5) => format!(
                    "max({of}) over ({part} order by {order} rows between 2 preceding and current row)"
                ),
                _ => of,
            });
        }
        format!("select {} from {from}{filter}", aliased(&items))
    }

    fn pick(&mut self, columns: &[Column]) -> Column {
        columns[self.random.below(columns.len() as u64) as usize].clone()
    }

    /// A SELECT whose columns are called by names of their own, and these under the name of a table.
    fn named_select(
        &mut self,
        kinds: &[Kind],
        table: &str,
        known: &[(String, Vec<Column>)],
        outer: &[Column],
    ) -> (String, Vec<Column>) {
        self.nested += 1;
        let body = self.select(kinds, outer, known);
        self.nested -= 1;
        let column = |(nth, kind): (usize, &Kind)| Column { name: format!("{table}.c{nth}"), kind: *kind };
        (body, kinds.iter().enumerate().map(column).collect())
    }

    fn relation(&mut self, name: String, known: &[(String, Vec<Column>)], outer: &[Column]) -> From {
        let of_name = |columns: &[(String, Kind)]| {
            columns
                .iter()
                .map(|(column, kind)| Column { name: format!("{name}.{column}"), kind: *kind })
                .collect()
        };
        if let Some((table, columns)) = known.first()
            && self.one_in(2)
        {
            let columns: Vec<_> = columns
                .iter()
                .map(|column| (column.name.rsplit('.').next().unwrap_or_default().to_owned(), column.kind))
                .collect();
            return From { text: format!("{table} as {name}"), columns: of_name(&columns) };
        }
        if self.may_nest() && self.one_in(if outer.is_empty() { 6 } else { 3 }) {
            let (body, columns) = self.named_select(&[Kind::Int, Kind::Text, Kind::Int], &name, known, outer);
            return From { text: format!("({body}) as {name}"), columns };
        }
        let table = self.table();
        let columns: Vec<_> = COLUMNS.map(|(column, kind)| (column.to_owned(), kind)).into();
        From { text: format!("r{table} as {name}"), columns: of_name(&columns) }
    }

    /// Tables, the first of which has that name.
    fn from(&mut self, name: String, known: &[(String, Vec<Column>)], outer: &[Column]) -> From {
        let mut from = self.relation(name, known, outer);
        let most = if self.nested == 0 { 3 } else { 2 };
        for _ in 1..1 + self.random.below(most) {
            let name = self.name("x");
            let right = self.relation(name, known, outer);
            let join = ["join", "join", "left join", "right join", "full join", "cross join"]
                [self.random.below(6) as usize];
            let mut columns = from.columns.clone();
            columns.extend(right.columns.iter().cloned());
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

    fn join_condition(&mut self, left: &[Column], right: &[Column], all: &[Column]) -> String {
        let kind = if self.one_in(4) { Kind::Text } else { Kind::Int };
        let mut of_kind = |columns: &[Column]| {
            let fit: Vec<_> = columns.iter().filter(|column| column.kind == kind).cloned().collect();
            (!fit.is_empty()).then(|| self.pick(&fit).name)
        };
        let (Some(left), Some(right)) = (of_kind(left), of_kind(right)) else { return "1 = 1".into() };
        let equal = format!("{left} = {right}");
        self.nested += NESTED_MAX;
        let condition = match self.random.below(6) {
            0 => self.condition(all, 1),
            1 | 2 => format!("{equal} and {}", self.condition(all, 1)),
            _ => equal,
        };
        self.nested -= NESTED_MAX;
        condition
    }

    /// EXISTS, IN, or a comparison with the only value of a query.
    pub fn subquery_condition(&mut self, outer: &[Column]) -> String {
        let not = if self.one_in(2) { "not " } else { "" };
        let kind = if self.one_in(4) { Kind::Text } else { Kind::Int };
        match self.random.below(3) {
            0 => format!("({not}exists ({}))", self.inner_query(kind, outer)),
            1 => {
                let left = self.expression(kind, outer, 1);
                format!("({left} {not}in ({}))", self.inner_query(kind, outer))
            }
            _ => {
                let (left, right) = (self.expression(kind, outer, 1), self.value_query(kind, outer));
                format!("({left} {} {right})", ["<", "=", ">="][self.random.below(3) as usize])
            }
        }
    }

    /// A query of one column for each row of others: of one table with simple conditions, or of anything.
    fn inner_query(&mut self, kind: Kind, outer: &[Column]) -> String {
        self.nested += 1;
        let mut query = match self.random.below(4) {
            0 => self.select(&[kind], outer, &[]),
            1 if self.one_in(2) => {
                let operator = ["union", "union all", "intersect", "except"][self.random.below(4) as usize];
                let (left, right) = (self.select(&[kind], outer, &[]), self.select(&[kind], outer, &[]));
                format!("{left} {operator} {right}")
            }
            way => self.simple_query(kind, outer, way == 2),
        };
        if self.one_in(5) {
            let (rows, first) = (self.random.below(4), self.random.below(3));
            // In a query of its own: SQLite takes DISTINCT for needless in EXISTS and IN, LIMIT or not.
            query =
                format!("select * from ({query}) as v order by 1 nulls first limit {rows} offset {first}");
        }
        self.nested -= 1;
        query
    }

    /// `(SELECT …)` of one row at most.
    pub fn value_query(&mut self, kind: Kind, outer: &[Column]) -> String {
        if self.one_in(2) {
            self.nested += 1;
            let query = self.simple_query(kind, outer, true);
            self.nested -= 1;
            return format!("({query})");
        }
        format!("(select * from ({}) as v order by 1 nulls first limit 1)", self.inner_query(kind, outer))
    }

    /// Of one table, maybe by an equal value; a column of it, or one value of all.
    fn simple_query(&mut self, kind: Kind, outer: &[Column], is_value: bool) -> String {
        let (name, outer) = self.inner_name(outer);
        let table = self.table();
        let own: Vec<_> =
            COLUMNS.map(|(column, kind)| Column { name: format!("{name}.{column}"), kind }).into();
        let ints: Vec<_> = outer.iter().filter(|column| column.kind == Kind::Int).cloned().collect();
        let of = |kind| own.iter().filter(|column| column.kind == kind).cloned().collect::<Vec<_>>();
        let depth = self.random.below(2) as usize;
        let mut filter = self.condition(&own, depth);
        if !ints.is_empty() && self.one_in(2) {
            let (inner, outer) = (self.pick(&of(Kind::Int)).name, self.pick(&ints).name);
            filter = format!("{inner} = {outer} and {filter}");
        }
        let item = match (is_value, kind) {
            (true, kind) => self.aggregate(kind, &own),
            (false, Kind::Text) => self.pick(&of(Kind::Text)).name,
            (false, _) => self.pick(&of(Kind::Int)).name,
        };
        format!("select {item} from r{table} as {name} where {filter}")
    }

    /// A statement that writes.
    pub fn write(&mut self) -> String {
        let table = self.table();
        self.written = Some(table);
        let own: Vec<_> =
            COLUMNS.map(|(column, kind)| Column { name: format!("r{table}.{column}"), kind }).into();
        let depth = 1 + self.random.below(2) as usize;
        match self.random.below(6) {
            0 => format!(
                "delete from r{table} where r{table}.k % 3 = {} and {}",
                self.random.below(3),
                self.condition(&own, depth)
            ),
            1 | 2 => {
                let (column, kind) = COLUMNS[1 + self.random.below(4) as usize];
                let value = self.expression(kind, &own, 2);
                // Values stay small, however often they are changed.
                let value = match kind {
                    Kind::Int => format!("({value}) % 20"),
                    _ => format!("substr({value}, 1, 5)"),
                };
                format!("update r{table} set {column} = {value} where {}", self.condition(&own, depth))
            }
            // Keys move away, and those that refer to them with them.
            3 => format!(
                "update r{table} set k = r{table}.k + {} where r{table}.k < 30 and {}",
                1000 * (1 + self.random.below(1000)),
                self.condition(&own, depth)
            ),
            4 => {
                let key = self.random.below(100);
                let rows = [row(self.random, key), row(self.random, key + 1)];
                format!(
                    "insert into r{table} ({GIVEN}) values ({}), ({}) on conflict (k) do update set a = excluded.a, s = r{table}.t",
                    rows[0], rows[1]
                )
            }
            _ => {
                let key = 100 + self.random.below(100);
                format!(
                    "insert into r{table} ({GIVEN}) values ({}) on conflict do nothing",
                    row(self.random, key)
                )
            }
        }
    }
}

/// A select list under the names c0, c1, …
fn aliased(items: &[String]) -> String {
    let item = |(nth, item): (usize, &String)| format!("{item} as c{nth}");
    items.iter().enumerate().map(item).collect::<Vec<_>>().join(", ")
}
