//! The queries on `lineitem`, for Ambo and in SQL, and the comparison of what they return.

use ambo::{Aggregate, Compare, Datum, Query, Table, Test, col, lit};
use serde_json::Value;

use super::peer;
use crate::engine::Result;

/// A query.
pub struct Asked {
    /// Its name in the figures.
    pub name: &'static str,
    /// For the peers.
    pub sql: &'static str,
    /// Columns before the numbers that are compared: what was grouped by.
    pub groups: usize,
    /// For Ambo.
    pub query: Query,
}

/// Days from 1970-01-01 to 1994-01-01, 1995-01-01 and 1998-09-02.
const DAYS_1994: i32 = 8766;
const DAYS_1995: i32 = 9131;
const DAYS_Q1: i32 = 10_471;

const Q6: &str = "SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' \
    AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24";
const Q1: &str = "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), \
    sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), \
    avg(l_extendedprice), avg(l_discount), count(*) FROM lineitem WHERE l_shipdate <= DATE '1998-09-02' \
    GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus";

fn hundredths(unscaled: i128) -> Datum {
    Datum::Decimal128 { unscaled, scale: 2 }
}

/// Count, sum, Q6 and Q1.
pub fn all(table: &Table) -> Result<Vec<Asked>> {
    let q6 = table
        .select(&[])?
        .filter("l_shipdate", Test::Between(Datum::Date32(DAYS_1994), Datum::Date32(DAYS_1995 - 1)))?
        .filter("l_discount", Test::Between(hundredths(5), hundredths(7)))?
        .filter("l_quantity", Test::Compare(Compare::Less, hundredths(2400)))?;
    let q1 =
        table.select(&[])?.filter("l_shipdate", Test::Compare(Compare::LessEqual, Datum::Date32(DAYS_Q1)))?;
    let price = || col("l_extendedprice");
    let discounted = || price() * (lit(1_i64) - col("l_discount"));
    Ok(vec![
        Asked {
            name: "count",
            sql: "SELECT count(*) FROM lineitem",
            groups: 0,
            query: table.select(&[])?.aggregate(&[Aggregate::Rows])?,
        },
        Asked {
            name: "sum of a column",
            sql: "SELECT sum(l_extendedprice) FROM lineitem",
            groups: 0,
            query: table.select(&[])?.aggregate(&[Aggregate::sum("l_extendedprice")])?,
        },
        Asked {
            name: "Q6",
            sql: Q6,
            groups: 0,
            query: q6.aggregate(&[Aggregate::sum(price() * col("l_discount"))])?,
        },
        Asked {
            name: "Q1",
            sql: Q1,
            groups: 2,
            query: q1.group_by(&["l_returnflag", "l_linestatus"])?.aggregate(&[
                Aggregate::sum("l_quantity"),
                Aggregate::sum(price()),
                Aggregate::sum(discounted()),
                Aggregate::sum(discounted() * (lit(1_i64) + col("l_tax"))),
                Aggregate::average("l_quantity"),
                Aggregate::average("l_extendedprice"),
                Aggregate::average("l_discount"),
                Aggregate::Rows,
            ])?,
        },
    ])
}

/// That both returned the same, to nine digits: averages are doubles.
pub fn compare(name: &str, groups: usize, ours: &[Vec<Datum>], theirs: &[Vec<Value>]) -> Result<()> {
    if ours.len() != theirs.len() {
        return Err(format!("{name}: {} rows, the peer has {}", ours.len(), theirs.len()).into());
    }
    for (ours, theirs) in ours.iter().zip(theirs) {
        for (our, their) in ours.iter().zip(theirs).skip(groups) {
            let (our, their) = (super::number(our)?, peer::number(their)?);
            if (our - their).abs() > their.abs() * 1e-9 {
                return Err(format!("{name}: {our}, the peer has {their}").into());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_results_are_noticed() {
        // Keeps away: a fast query that computes something else.
        let ours = [vec![Datum::from("A"), hundredths(123_456)]];
        let same = [vec![Value::from("A"), Value::from("1234.56")]];
        let other = [vec![Value::from("A"), Value::from("1234.57")]];
        assert!(compare("q", 1, &ours, &same).is_ok());
        assert!(compare("q", 1, &ours, &other).is_err());
        assert!(compare("q", 1, &ours, &[]).is_err());
    }
}
