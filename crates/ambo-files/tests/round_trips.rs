//! Values of every type through every form and back.

use std::{path::Path, sync::Arc};

use ambo::{ColumnBuffer, Datum, Type};
use ambo_files::{
    Batches, Column, Compression, Converter, Form, Format, ParquetFile, Part, Source, TextTable,
};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())].clone()
    }

    /// A whole number of any size.
    fn whole(&mut self) -> i128 {
        let bits = self.below(65);
        let value = i128::from(self.next()) & ((1 << bits) - 1);
        if self.next() & 1 == 0 { value } else { -value }
    }
}

const PIECES: [&str; 34] = [
    "",
    "",
    " ",
    "a",
    "NULL",
    "null",
    "\\N",
    "NaN",
    ",",
    ";",
    "\t",
    "\"",
    "\"\"",
    "'",
    "\n",
    "\r\n",
    "\r",
    "\\",
    "\\n",
    "x'00'",
    "\\x00",
    "007",
    "1.50",
    "true",
    "2024-02-29",
    "ä",
    "e\u{301}",
    "🙂",
    "\0",
    "\u{feff}",
    "\u{85}",
    "{\"a\":[1]}",
    "#",
    "-",
];

fn types() -> Vec<Type> {
    let decimals = [(1, 0), (5, 2), (18, 6), (38, 0), (38, 10), (38, 38)];
    let mut types = vec![
        Type::Bool,
        Type::I8,
        Type::I16,
        Type::I32,
        Type::I64,
        Type::U8,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::F32,
        Type::F64,
        Type::Date32,
        Type::Time64,
        Type::Timestamp,
        Type::TimestampTz,
        Type::Utf8,
        Type::Binary,
    ];
    types.extend(decimals.map(|(precision, scale)| Type::decimal(precision, scale).unwrap()));
    types
}

fn value(ty: Type, random: &mut Random) -> Datum {
    let clamp = |value: i128, low: i128, high: i128| value.clamp(low, high);
    let whole = random.whole();
    match ty {
        Type::Bool => Datum::Bool(whole & 1 == 0),
        Type::I8 => Datum::I8(clamp(whole, -128, 127) as i8),
        Type::I16 => Datum::I16(clamp(whole, i16::MIN.into(), i16::MAX.into()) as i16),
        Type::I32 => Datum::I32(clamp(whole, i32::MIN.into(), i32::MAX.into()) as i32),
        Type::I64 => Datum::I64(clamp(whole, i64::MIN.into(), i64::MAX.into()) as i64),
        Type::U8 => Datum::U8(clamp(whole, 0, 255) as u8),
        Type::U16 => Datum::U16(clamp(whole, 0, u16::MAX.into()) as u16),
        Type::U32 => Datum::U32(clamp(whole, 0, u32::MAX.into()) as u32),
        Type::U64 => Datum::U64(clamp(whole, 0, u64::MAX.into()) as u64),
        Type::F32 => match random.below(3) {
            0 => Datum::F32(random.of(&[
                0.0,
                -0.0,
                0.1,
                f32::NAN,
                f32::INFINITY,
                f32::NEG_INFINITY,
                f32::MAX,
                f32::MIN_POSITIVE,
            ])),
            1 => Datum::F32(whole as f32),
            _ => {
                Datum::F32(Some(f32::from_bits(random.next() as u32)).filter(|n| !n.is_nan()).unwrap_or(1.5))
            }
        },
        Type::F64 => match random.below(3) {
            0 => Datum::F64(random.of(&[
                0.0,
                -0.0,
                0.1,
                0.1 + 0.2,
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::MAX,
                5e-324,
            ])),
            1 => Datum::F64(whole as f64),
            _ => Datum::F64(Some(f64::from_bits(random.next())).filter(|n| !n.is_nan()).unwrap_or(1.5)),
        },
        Type::Decimal128 { precision, scale } => {
            let most = 10i128.pow(precision.into()) - 1;
            let unscaled = match random.below(4) {
                0 => random.of(&[most, -most, 0, 1, -1]),
                1 => whole,
                _ => whole.wrapping_mul(i128::from(random.next())),
            };
            Datum::Decimal128 { unscaled: unscaled.clamp(-most, most), scale }
        }
        Type::Date32 => Datum::Date32(clamp(whole, -2_000_000, 2_900_000) as i32),
        Type::Time64 => Datum::Time64(clamp(whole.abs(), 0, 86_399_999_999_999) as i64),
        Type::Timestamp => match random.below(3) {
            0 => Datum::Timestamp(random.of(&[
                0,
                -1,
                253_402_300_799_999_999,
                -62_135_596_800_000_001,
                9_223_372_036_854_775,
            ])),
            _ => Datum::Timestamp(clamp(whole, -200_000_000_000_000_000, 9_000_000_000_000_000_000) as i64),
        },
        Type::TimestampTz => match value(Type::Timestamp, random) {
            Datum::Timestamp(moment) => Datum::TimestampTz(moment),
            other => other,
        },
        Type::Utf8 => Datum::Utf8((0..random.below(5)).map(|_| random.of(&PIECES)).collect()),
        Type::Binary => {
            let length = random.below(6);
            Datum::Binary(
                (0..length)
                    .map(|_| random.of(&[0, 1, b'a', b'\\', b'\n', b'"', b',', 0x80, 0xc3, 0xff]))
                    .collect(),
            )
        }
    }
}

type Table = Vec<Vec<Datum>>;

fn table(columns: &[Column], rows: usize, random: &mut Random) -> Table {
    let cell = |column: &Column, random: &mut Random| match column.nullable && random.below(4) == 0 {
        true => Datum::Null,
        false => value(column.ty, random),
    };
    (0..rows).map(|_| columns.iter().map(|column| cell(column, random)).collect()).collect()
}

fn batch(columns: &[Column], rows: &[Vec<Datum>]) -> RecordBatch {
    let array = |(place, column): (usize, &Column)| {
        let mut buffer = ColumnBuffer::new(column.ty);
        rows.iter().for_each(|row| buffer.push(row[place].as_ref()).unwrap());
        ambo_files::array(buffer).unwrap()
    };
    let arrays: Vec<_> = columns.iter().enumerate().map(array).collect();
    let field = |(column, array): (&Column, &Arc<dyn arrow_array::Array>)| {
        Field::new(&column.name, array.data_type().clone(), true)
    };
    let schema = Schema::new(columns.iter().zip(&arrays).map(field).collect::<Vec<_>>());
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(Arc::new(schema), arrays, &options).unwrap()
}

/// The values of batches, as those of columns of these types.
fn values(columns: &[Column], batches: impl Iterator<Item = RecordBatch>) -> Table {
    let mut definition = ambo::TableDefinition::new("t");
    for column in columns {
        definition = definition.column_nullable(&column.name, column.ty);
    }
    let mut table = Table::new();
    for batch in batches {
        let buffers = ambo::arrow::buffers(&definition, &batch, 1).unwrap();
        let row = |row: usize| buffers.iter().map(|buffer| buffer.get(row).unwrap().to_value()).collect();
        table.extend((0..batch.num_rows()).map(row));
    }
    table
}

fn read(path: &Path, format: &Format, columns: &[Column], schema: &SchemaRef) -> Table {
    let source = Source::open(path).unwrap();
    if format.form == Form::Parquet {
        let file = ParquetFile::open(&source).unwrap();
        return values(columns, file.all().unwrap().map(|batch| batch.unwrap()));
    }
    let names = ambo_files::names(&source, format).unwrap();
    let converter = Converter::new(columns.to_vec(), false, &names, path).unwrap();
    let part = Part {
        source: Arc::new(source),
        format: Arc::new(format.clone()),
        names,
        converter,
        constants: Vec::new(),
    };
    let batches = Batches::new(vec![part], schema.clone(), 2, false);
    values(columns, batches.map(|batch| batch.unwrap()))
}

fn formats(random: &mut Random) -> Vec<(String, Format)> {
    let csv = Format::new(Form::Csv);
    let mut formats = vec![
        ("plain.csv".to_owned(), csv.clone()),
        ("tabs.tsv".to_owned(), Format { delimiter: b'\t', ..csv.clone() }),
        ("escapes.csv".to_owned(), Format { escape: Some(b'\\'), ..csv.clone() }),
        (
            "marks.csv".to_owned(),
            Format { delimiter: b';', quote: b'\'', nulls: vec!["NULL".into()], ..csv.clone() },
        ),
        ("minus.csv".to_owned(), Format { delimiter: b'-', nulls: vec!["\\N".into()], ..csv.clone() }),
        ("lines.jsonl".to_owned(), Format::new(Form::Json)),
        ("columns.parquet".to_owned(), Format::new(Form::Parquet)),
    ];
    for (name, format) in &mut formats {
        if format.form != Form::Parquet {
            format.compression = random.of(&[Compression::None, Compression::Gzip, Compression::Zstd]);
            *name = format!("{:?}.{name}", format.compression);
        }
    }
    formats
}

fn same(a: &Table, b: &Table) -> bool {
    // NaN is the same as itself here, and 0 is not -0.
    format!("{a:?}") == format!("{b:?}")
}

fn written(path: &Path, format: &Format, columns: &[Column], rows: &Table) -> SchemaRef {
    let schema = batch(columns, &[]).schema();
    let batches = rows.chunks(7).map(|rows| Ok::<_, ambo_files::Error>(batch(columns, rows)));
    assert_eq!(ambo_files::write(path, format, &schema, batches, |_| {}).unwrap(), rows.len() as u64);
    schema
}

// Keeps away: a value of any type that does not come back from a file as it was, NULL and empty texts among them.
#[test]
fn values_of_every_type_come_back_from_every_form() {
    let dir = tempfile::tempdir().unwrap();
    let types = types();
    for seed in 0..400 {
        let random = &mut Random(seed);
        let column = |nth: usize, random: &mut Random| Column {
            name: format!("{}{nth}", random.of(&["c", " ", "a,b", "\"q\"", "ä", "two\nlines", "Order "])),
            ty: random.of(&types),
            nullable: random.below(4) > 0,
        };
        // One column alone is written otherwise than several.
        let columns: Vec<Column> = (0..1 + random.below(5)).map(|nth| column(nth, random)).collect();
        let rows = random.below(30);
        let rows = table(&columns, rows, random);
        for (name, format) in formats(random) {
            let path = dir.path().join(&name);
            let schema = written(&path, &format, &columns, &rows);
            let found = read(&path, &format, &columns, &schema);
            assert!(same(&found, &rows), "seed {seed}, {name}, {columns:?}\n{rows:?}\n{found:?}");
        }
    }
}

// Keeps away: a value that is changed by the type that is inferred for its column.
#[test]
fn values_are_kept_by_the_types_that_are_inferred() {
    let dir = tempfile::tempdir().unwrap();
    let types: Vec<Type> = types().into_iter().filter(|ty| *ty != Type::Utf8).collect();
    for seed in 0..400 {
        let random = &mut Random(1_000_000 + seed);
        let column = |nth: usize, random: &mut Random| Column {
            name: format!("c{nth}"),
            ty: random.of(&types),
            nullable: random.below(4) > 0,
        };
        let columns: Vec<Column> = (0..2 + random.below(5)).map(|nth| column(nth, random)).collect();
        let rows = 1 + random.below(8);
        let rows = table(&columns, rows, random);
        for (name, format) in formats(random) {
            if format.form == Form::Parquet {
                continue;
            }
            let path = dir.path().join(&name);
            written(&path, &format, &columns, &rows);
            let found = TextTable::open(&[path], &format, 2, &|| false).unwrap();
            let places: Vec<usize> = (0..columns.len()).collect();
            let guessed: Vec<Column> = (found.schema().fields().iter())
                .map(|field| Column {
                    name: field.name().clone(),
                    ty: ambo::arrow::type_of(field.data_type()).unwrap(),
                    nullable: true,
                })
                .collect();
            let values = values(&guessed, found.batches(&places, 2).map(|batch| batch.unwrap()));
            assert_eq!(values.len(), rows.len());
            for (row, found) in rows.iter().zip(&values) {
                for ((value, found), column) in row.iter().zip(found).zip(&columns) {
                    let again = match found {
                        // Bytes without any are an empty text.
                        Datum::Null => Datum::Null,
                        found => {
                            let text = ambo_files::datum::field(found);
                            let text = match column.ty {
                                Type::Date32
                                | Type::Time64
                                | Type::Timestamp
                                | Type::TimestampTz
                                | Type::Binary
                                | Type::Bool => text.into_owned(),
                                // A whole double is written with a point, an integer is not.
                                Type::F32 | Type::F64 => text.into_owned(),
                                _ => text.strip_suffix(".0").map_or(text.to_string(), str::to_owned),
                            };
                            ambo_files::datum::parse(&text, column.ty).unwrap_or_else(|error| {
                                panic!("seed {seed}, {name}, {column:?}: {value:?} {found:?} {error}")
                            })
                        }
                    };
                    let is_zero = |value: &Datum| matches!(value, Datum::F64(0.0) | Datum::F32(0.0));
                    let is_same =
                        format!("{again:?}") == format!("{value:?}") || (is_zero(&again) && is_zero(value));
                    assert!(
                        is_same,
                        "seed {seed}, {name}, {column:?} as {guessed:?}: {value:?} is {found:?}"
                    );
                }
            }
        }
    }
}

// Keeps away: rows of a large file that are made up, lost or out of order because several threads read it, and lines that are miscounted.
#[test]
fn large_files_are_cut_between_records() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.csv");
    let mut text = String::from("id,words,code,late\n");
    let rows = 60_000;
    for id in 0..rows {
        let late = if id == rows - 1 { "7" } else { "" };
        text +=
            &format!("{id},\"{}two\nlines,\"\"{id}\"\"\n\",{:05},{late}\n", "x".repeat(id % 300), id % 1000);
    }
    assert!(text.len() > 8 << 20);
    std::fs::write(&path, &text).unwrap();
    let table = TextTable::open(std::slice::from_ref(&path), &Format::new(Form::Csv), 4, &|| false).unwrap();
    let types: Vec<_> = table.schema().fields().iter().map(|field| field.data_type().to_string()).collect();
    assert_eq!(types, ["Int64", "Utf8", "Utf8", "Int64"]);
    let columns: Vec<Column> = [("id", Type::I64), ("late", Type::I64), ("words", Type::Utf8)]
        .map(|(name, ty)| Column { name: name.into(), ty, nullable: true })
        .into();
    for threads in [1, 4] {
        let found = values(&columns, table.batches(&[0, 3, 1], threads).map(|batch| batch.unwrap()));
        assert_eq!(found.len(), rows);
        for (id, row) in found.iter().enumerate() {
            let late = if id == rows - 1 { Datum::I64(7) } else { Datum::Null };
            let words = format!("{}two\nlines,\"{id}\"\n", "x".repeat(id % 300));
            assert_eq!(row, &[Datum::I64(id as i64), late, Datum::Utf8(words)]);
        }
    }
    // Nobody waits for what is not asked for.
    assert!(table.batches(&[], 4).next().unwrap().unwrap().num_rows() > 0);
    text += &format!("{rows},\"open\n1,2,3,4\n");
    std::fs::write(&path, &text).unwrap();
    let error = TextTable::open(&[path], &Format::new(Form::Csv), 4, &|| false).unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&format!("large.csv: line {}: a quote is opened and never closed", 3 * rows + 2)),
        "{error}"
    );
}

// Keeps away: a column of a file that is lost because another file of the pattern lacks it, and lists that are cut.
#[test]
fn files_of_a_pattern_are_one_table() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("a.jsonl"),
        "{\"id\":1,\"tags\":[\"x\",null],\"at\":{\"n\":1}}\n{\"id\":2,\"tags\":[],\"at\":null}\n",
    )
    .unwrap();
    std::fs::write(dir.path().join("b.jsonl"), "{\"id\":2.5,\"more\":true,\"at\":{\"m\":[\"z\"]}}\n")
        .unwrap();
    std::fs::write(dir.path().join("c.txt"), "no").unwrap();
    let paths = ambo_files::paths(&format!("{}/*.jsonl", dir.path().display())).unwrap();
    assert_eq!(paths.len(), 2);
    let table = TextTable::open(&paths, &Format::new(Form::Json), 2, &|| false).unwrap();
    let batches: Vec<_> = table.batches(&[0, 1, 2, 3], 2).map(|batch| batch.unwrap()).collect();
    let mut lines = Vec::new();
    batches.iter().for_each(|batch| ambo_files::JsonRows.batch(batch, &mut lines).unwrap());
    assert_eq!(
        String::from_utf8(lines).unwrap(),
        "{\"id\":1.0,\"tags\":[\"x\",null],\"at\":{\"m\":null,\"n\":1},\"more\":null}\n\
         {\"id\":2.0,\"tags\":[],\"at\":null,\"more\":null}\n\
         {\"id\":2.5,\"tags\":null,\"at\":{\"m\":[\"z\"],\"n\":null},\"more\":true}\n"
    );
    assert!(ambo_files::paths("/nowhere/*.csv").unwrap_err().to_string().contains("no file"));
}

// Keeps away: a panic, or a thread that waits for ever, whatever is in a file; and rows behind what is wrong.
#[test]
fn whatever_is_in_a_file_is_rows_or_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("any");
    let more: [&[u8]; 14] = [
        b",",
        b",",
        b"\n",
        b"\n",
        b"\"",
        b"1",
        b"2.5",
        b"\xff",
        b"{\"a\":1}\n",
        b"{\"a\":",
        b"[1,",
        b"]}\n",
        b"\x1f\x8b",
        b"a",
    ];
    let (mut good, mut bad) = (0, 0);
    for seed in 0..3000 {
        let random = &mut Random(2_000_000 + seed);
        let mut bytes = Vec::new();
        for _ in 0..random.below(25) {
            match random.below(4) {
                0 => bytes.extend_from_slice(random.of(&PIECES).as_bytes()),
                _ => bytes.extend_from_slice(random.of(&more)),
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        let form = random.of(&[Form::Csv, Form::Json]);
        let format = Format {
            header: random.below(2) == 0,
            escape: random.of(&[None, Some(b'\\')]),
            ..Format::new(form)
        };
        let Ok(table) = TextTable::open(std::slice::from_ref(&path), &format, 2, &|| false) else {
            bad += 1;
            continue;
        };
        let places: Vec<usize> = (0..table.schema().fields().len()).collect();
        for batch in table.batches(&places, 2) {
            // What was looked at is there.
            batch.unwrap_or_else(|error| {
                panic!("seed {seed}: {error}, {:?}", bytes.escape_ascii().to_string())
            });
        }
        good += 1;
    }
    assert!(good > 100 && bad > 1000, "{good} {bad}");
}

// Keeps away: words of another system of types, for what is not loaded.
#[test]
fn what_is_not_loaded_is_told_in_words() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("l.jsonl"), "{\"id\":1,\"tags\":[\"x\"]}\n").unwrap();
    let lists =
        TextTable::open(&[dir.path().join("l.jsonl")], &Format::new(Form::Json), 1, &|| false).unwrap();
    let path = dir.path().join("l.parquet");
    ambo_files::write(&path, &Format::new(Form::Parquet), lists.schema(), lists.batches(&[0, 1], 1), |_| {})
        .unwrap();
    let error = ParquetFile::open(&Source::open(&path).unwrap()).unwrap().columns().unwrap_err().to_string();
    assert!(
        error.contains("l.parquet: column \"tags\" holds lists, which is not loaded without SQL"),
        "{error}"
    );
}
