//! Queries over Parquet files whose moments have the units and zones of others.

use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, TimestampMillisecondArray, TimestampNanosecondArray};
use parquet::arrow::ArrowWriter;

use crate::program::{Scratch, ambo};

const NANOS: i64 = 1_709_201_472_123_456_789;

/// Two rows one nanosecond apart, in nanoseconds, and in milliseconds of a zone.
fn written(scratch: &Scratch, name: &str) -> String {
    let zoned = TimestampMillisecondArray::from(vec![1_719_835_200_000, 1_719_835_200_001]);
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(Int64Array::from(vec![1, 2]))),
        ("ns", Arc::new(TimestampNanosecondArray::from(vec![NANOS, NANOS + 1]))),
        ("tz", Arc::new(zoned.with_timezone("Europe/Brussels"))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let path = scratch.path(name);
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path.display().to_string()
}

// Keeps away: nanoseconds that are cut off and zones that are lost where a query only hands moments on, and moments of two units that are
// compared as if they had one.
#[test]
fn moments_of_files_stay_as_they_are() {
    let scratch = Scratch::new();
    let file = &written(&scratch, "f.parquet");
    let db = &scratch.path("db").display().to_string();
    ambo(&[db, "-c", "create table t (id int primary key, at timestamp, tz timestamptz)"]).ok();
    let says = |query: &str, expected: &str| {
        let query = query.replace("FILE", &format!("'{file}'"));
        assert_eq!(ambo(&[db, "-c", &query]).ok(), expected, "{query}");
    };
    let (first, second) = ("2024-02-29 10:11:12.123456789", "2024-02-29 10:11:12.12345679");
    let zoned = "2024-07-01 14:00:00+02";
    says("select ns, tz from FILE where id = 1", &format!("{first}\t{zoned}\n"));
    says("select max(ns), count(distinct ns) from FILE", &format!("{second}\t2\n"));
    says("select ns as a from FILE group by ns order by a desc limit 1", &format!("{second}\n"));
    says("select a.id, b.id from FILE a join FILE b on a.ns < b.ns", "1\t2\n");
    says("select count(*) from FILE a join FILE b using (ns)", "2\n");
    says("select ns from FILE union select ns from FILE order by 1 limit 1", &format!("{first}\n"));
    says("select lag(ns) over (order by ns) from FILE order by id desc limit 1", &format!("{first}\n"));
    says("select arrow_typeof(tz) from FILE limit 1", "Timestamp(ms, \"Europe/Brussels\")\n");
    // What is computed is computed in microseconds.
    let cut = "2024-02-29 10:11:12.123456";
    says("select ns + interval '1 day' from FILE where id = 1", "2024-03-01 10:11:12.123456\n");
    says("select id from FILE where ns = '2024-02-29 10:11:12.123456' order by id", "1\n2\n");
    says("select tz at time zone 'Europe/Brussels' from FILE where id = 1", "2024-07-01 14:00:00\n");
    says(
        "with recursive r (m) as (select min(ns) from FILE union all select m + interval '1 day' from r where m < timestamp '2024-03-01') select max(m) from r",
        "2024-03-01 10:11:12.123456\n",
    );
    says(
        "with recursive r (m) as (select min(ns) from FILE union all select m from r where m is null) select m from r",
        &format!("{cut}\n"),
    );
    says("insert into t select id, ns, tz from FILE", "");
    says("select at, tz from t where id = 1", &format!("{cut}\t2024-07-01 12:00:00\n"));
    says("select count(*) from t join FILE f on t.at = f.ns and t.tz = f.tz where t.id = f.id", "2\n");
    says("select count(*) from FILE join t using (tz)", "2\n");
    says("select count(*) from t where tz in (select tz from FILE)", "2\n");
    says("select count(*) from FILE where ns in (select at from t)", "2\n");
    says("select distinct ns from (select ns from FILE union all select at from t) a", &format!("{cut}\n"));
    says("select coalesce(null, ns) from FILE where id = 1", &format!("{cut}\n"));
    says("select count(*) from (select tz from FILE intersect select tz from t) a", "2\n");
    let copy = &scratch.path("copy.parquet").display().to_string();
    says(&format!("copy (select ns, tz from FILE) to '{copy}'"), "");
    says(&format!("select ns, tz from '{copy}' limit 1"), &format!("{first}\t{zoned}\n"));
}
