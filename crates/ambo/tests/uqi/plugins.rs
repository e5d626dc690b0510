//! Plug-ins of the program's own, in Rust.

use std::any::Any;

use ambo::{
    Database, Datum, DatumRef, Error, Result, Storage, Type,
    uqi::{Aggregate, AggregatePlugin, Batch, Input, UqiResult},
};

use crate::{create, error, rows, single};

/// The product of numbers, which is kept by each thread.
struct Product(f64);

struct Products {
    can_be_merged: bool,
}

impl AggregatePlugin for Products {
    fn start(&self, input: &Input) -> Result<Box<dyn Aggregate>> {
        match input.first {
            Some(Type::F64) => Ok(Box::new(Product(1.0))),
            _ => Err(Error::Invalid("PRODUCT takes floats".into())),
        }
    }

    fn can_be_merged(&self) -> bool {
        self.can_be_merged
    }
}

impl Aggregate for Product {
    fn many(&mut self, batch: &Batch<'_>) -> Result<()> {
        let column = batch.first.expect("an input was written");
        batch.for_rows(|row| self.0 *= column.value(row).as_f64().unwrap_or(1.0));
        Ok(())
    }

    fn merge(&mut self, other: Box<dyn Aggregate>) -> Result<()> {
        self.0 *= other.into_any().downcast::<Self>().expect("the same").0;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<UqiResult> {
        let mut result = UqiResult::new(Type::Binary, Type::F64);
        result.add_row(b"PRODUCT\0", &self.0.to_le_bytes())?;
        Ok(result)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[test]
fn programs_have_functions_of_their_own() {
    let db = Database::in_memory().unwrap();
    let t = create(&db, "t", Type::U64, Type::F64, Storage::BTree);
    for key in 1..=5u64 {
        t.insert_row(&[key.into(), (key as f64).into()]).unwrap();
    }
    let plugins = db.uqi_plugins();
    plugins.register_aggregate("Product", Products { can_be_merged: true }).unwrap();
    plugins.register_aggregate("product-in-order", Products { can_be_merged: false }).unwrap();
    plugins
        .register_predicate("odd", |value: DatumRef<'_>| value.as_u64().is_some_and(|value| value % 2 == 1))
        .unwrap();
    assert_eq!(single(&db, "PRODUCT($record) FROM t"), Datum::F64(120.0));
    assert_eq!(single(&db, "product-in-order($record) FROM t WHERE odd($key)"), Datum::F64(15.0));
    assert_eq!(single(&db, "product($record) FROM t WHERE NOT odd($key) AND $record < 4"), Datum::F64(2.0));
    assert_eq!(
        single(&db, "COUNT($key) FROM t WHERE odd($key) OR NOT (odd($key) OR $key = 4)"),
        Datum::U64(4)
    );
    assert!(error(&db, "PRODUCT($key) FROM t").contains("PRODUCT takes floats"));
    for name in ["PRODUCT", "sum"] {
        let taken = plugins.register_aggregate(name, Products { can_be_merged: true });
        assert!(matches!(taken, Err(Error::Exists(_))), "{name}");
    }
    assert!(plugins.register_predicate("ODD", |_: DatumRef<'_>| true).is_err());
    assert!(error(&db, "odd($key) FROM t").contains("it stands behind WHERE"));
    assert_eq!(rows(&db.uqi(&db, "VALUE($key) FROM t WHERE odd($record)").unwrap()), [], "floats are no u64");
}
