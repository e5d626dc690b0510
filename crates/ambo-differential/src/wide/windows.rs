//! Random window functions: by names, by names of names, with frames.

use super::{
    query::{Generator, aliased},
    schema::{Column, Kind},
};

impl Generator<'_> {
    pub fn windowed(&mut self, kinds: &[Kind], own: &[Column], from: &str, filter: &str) -> String {
        let part = match self.one_in(3) {
            true => String::new(),
            false => format!("partition by {}", self.pick(own).name),
        };
        let one = self.pick(own);
        let way = *self.random.of(&["nulls first", "desc nulls last", "nulls last"]);
        // All columns, so that rows that tie are the same.
        let rest: Vec<_> = own.iter().map(|column| format!("{} nulls first", column.name)).collect();
        let whole = format!("order by {} {way}, {}", one.name, rest.join(", "));
        let peers = format!("order by {} {way}", one.name);
        // Rows that tie may stand in another order in each window, so only one of them may look at that.
        let mut by_order = true;
        let mut items = Vec::new();
        for kind in kinds {
            let of = self.expression(*kind, own, 1);
            let is_number = matches!(kind, Kind::Int | Kind::Decimal | Kind::Double);
            items.push(match self.random.below(11) {
                0 if *kind == Kind::Int && std::mem::take(&mut by_order) => {
                    "row_number() over whole".to_owned()
                }
                1 if *kind == Kind::Int => {
                    format!("{}() over peers", self.random.of(&["rank", "dense_rank"]))
                }
                1 if *kind == Kind::Double => {
                    format!("{}() over peers", self.random.of(&["percent_rank", "cume_dist"]))
                }
                0 if *kind == Kind::Int => {
                    let (distance, by) = (self.random.below(3), self.leaf(Kind::Int, own));
                    let ahead = self.random.below(3);
                    format!(
                        "count({of}) over (wp order by {by} {way} range between {distance} preceding and {ahead} following)"
                    )
                }
                2 if *kind == Kind::Int => format!("count({of}) over (peers {})", self.group_frame()),
                3 if std::mem::take(&mut by_order) => {
                    let function = *self.random.of(&["lag", "lead"]);
                    let nulls = *self.random.of(&["", "", " ignore nulls", " respect nulls"]);
                    format!("{function}({of}, {}{nulls}) over whole", 1 + self.random.below(3))
                }
                4 if std::mem::take(&mut by_order) => {
                    let function = *self.random.of(&["first_value", "last_value"]);
                    let nulls = *self.random.of(&["", "", " ignore nulls"]);
                    match self.one_in(3) {
                        true => {
                            let nth = 1 + self.random.below(3);
                            format!("nth_value({of}, {nth}{nulls}) over (whole {})", self.row_frame())
                        }
                        false => format!("{function}({of}{nulls}) over (whole {})", self.row_frame()),
                    }
                }
                5 if is_number && *kind != Kind::Int => format!("sum({of}) over wp"),
                6 if *kind == Kind::Int => {
                    format!("cast(sum({of}) over (peers {}) as bigint)", self.group_frame())
                }
                7 if *kind != Kind::Bool && std::mem::take(&mut by_order) => {
                    format!("max({of}) over (whole {})", self.row_frame())
                }
                8 if *kind != Kind::Bool => format!("min({of}) over (peers {})", self.group_frame()),
                9 if *kind == Kind::Int && std::mem::take(&mut by_order) => {
                    format!("rank(order by {} {way}) over (whole {})", one.name, self.row_frame())
                }
                10 if std::mem::take(&mut by_order) => {
                    let function = *self.random.of(&["lag", "lead", "first_value", "last_value"]);
                    format!("{function}({of} order by {}) over (whole {})", rest.join(", "), self.row_frame())
                }
                _ => of,
            });
        }
        let windows = format!(
            " window wp as ({part}), whole as (wp {whole}), peers as ({part}{}{peers})",
            if part.is_empty() { "" } else { " " }
        );
        format!("select {} from {from}{filter}{windows}", aliased(&items))
    }

    fn row_frame(&mut self) -> String {
        let (before, after) = (self.random.below(3), self.random.below(3));
        let frame = match self.random.below(4) {
            0 => format!("rows between {before} preceding and {after} following"),
            1 => "rows between unbounded preceding and current row".to_owned(),
            2 => format!("rows between {after} following and unbounded following"),
            _ => format!("rows between {} preceding and {before} preceding", before + 1),
        };
        let exclude = *self.random.of(&["", "", "", " exclude current row", " exclude no others"]);
        frame + exclude
    }

    /// A frame in which rows that tie are alike.
    fn group_frame(&mut self) -> String {
        let count = self.random.below(3);
        let frame = match self.random.below(5) {
            0 => return String::new(),
            1 => "range between unbounded preceding and current row".to_owned(),
            2 => "range between current row and unbounded following".to_owned(),
            3 => format!("groups between {count} preceding and current row"),
            _ => format!("groups between {count} preceding and 1 following"),
        };
        let exclude = *self.random.of(&["", "", "", " exclude group", " exclude no others"]);
        frame + exclude
    }
}
