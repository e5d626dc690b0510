//! `lineitem` and `orders` of TPC-H, by the crate `tpchgen`.

use tpchgen::generators::{LineItemGenerator, OrderGenerator};

use super::column::{Column, Table, Texts, Values};

/// `lineitem` at a scale factor.
pub fn lineitem(scale: f64) -> Table {
    let mut keys: [Vec<i64>; 3] = Default::default();
    let mut line_numbers = Vec::new();
    let mut amounts: [Vec<i64>; 4] = Default::default();
    let mut dates: [Vec<i32>; 3] = Default::default();
    let mut texts: [Texts; 5] = Default::default();
    for row in LineItemGenerator::new(scale, 1, 1).iter() {
        push(&mut keys, [row.l_orderkey, row.l_partkey, row.l_suppkey]);
        line_numbers.push(row.l_linenumber);
        let hundredths = [row.l_extendedprice, row.l_discount, row.l_tax].map(|decimal| decimal.0);
        push(&mut amounts, [row.l_quantity * 100, hundredths[0], hundredths[1], hundredths[2]]);
        push(&mut dates, [row.l_shipdate, row.l_commitdate, row.l_receiptdate].map(|d| d.to_unix_epoch()));
        let words = [row.l_returnflag, row.l_linestatus, row.l_shipinstruct, row.l_shipmode, row.l_comment];
        texts.iter_mut().zip(words).for_each(|(texts, word)| texts.push(word));
    }
    let mut columns = Vec::new();
    columns.extend(named(["l_orderkey", "l_partkey", "l_suppkey"], keys.map(Values::I64)));
    columns.push(Column::new("l_linenumber", Values::I32(line_numbers)));
    columns.extend(named(["l_quantity", "l_extendedprice", "l_discount", "l_tax"], amounts.map(Values::I64)));
    columns.extend(named(["l_shipdate", "l_commitdate", "l_receiptdate"], dates.map(Values::Date)));
    columns.extend(named(
        ["l_returnflag", "l_linestatus", "l_shipinstruct", "l_shipmode", "l_comment"],
        texts.map(Values::Text),
    ));
    table("lineitem", scale, columns)
}

/// `orders` at a scale factor.
pub fn orders(scale: f64) -> Table {
    let mut numbers: [Vec<i64>; 3] = Default::default();
    let mut dates = Vec::new();
    let mut priorities = Vec::new();
    let mut texts: [Texts; 4] = Default::default();
    for row in OrderGenerator::new(scale, 1, 1).iter() {
        push(&mut numbers, [row.o_orderkey, row.o_custkey, row.o_totalprice.0]);
        dates.push(row.o_orderdate.to_unix_epoch());
        priorities.push(row.o_shippriority);
        texts[0].push(&row.o_orderstatus.to_string());
        texts[1].push(row.o_orderpriority);
        texts[2].push(&row.o_clerk.to_string());
        texts[3].push(row.o_comment);
    }
    let mut columns = Vec::new();
    columns.extend(named(["o_orderkey", "o_custkey", "o_totalprice"], numbers.map(Values::I64)));
    columns.push(Column::new("o_orderdate", Values::Date(dates)));
    columns.push(Column::new("o_shippriority", Values::I32(priorities)));
    columns
        .extend(named(["o_orderstatus", "o_orderpriority", "o_clerk", "o_comment"], texts.map(Values::Text)));
    table("orders", scale, columns)
}

fn table(name: &str, scale: f64, columns: Vec<Column>) -> Table {
    Table {
        name: name.into(),
        source: format!("TPC-H at scale factor {scale}, by the crate tpchgen; decimals as hundredths"),
        columns,
    }
}

fn push<T, const N: usize>(columns: &mut [Vec<T>; N], values: [T; N]) {
    columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
}

fn named<const N: usize>(names: [&str; N], values: [Values; N]) -> impl Iterator<Item = Column> {
    let names = names.map(str::to_owned);
    names.into_iter().zip(values).map(|(name, values)| Column { name, values, valid: None })
}
