//! Conditions that a scan evaluates on decoded columns: those that storages cannot answer on encoded blocks, and those that joins and
//! top-k sorts find while they run (dynamic filters).

use std::{cmp::Ordering, sync::Arc};

use ambo::{
    Test,
    arrow::{Unit, UnitFilter},
};
use arrow::{
    array::{Array, AsArray, BooleanArray, RecordBatch},
    buffer::BooleanBuffer,
    compute::{filter_record_batch, prep_null_mask_filter},
    datatypes::{Schema, SchemaRef},
};
use datafusion::{
    common::{
        Result, ScalarValue,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::Operator,
    physical_expr::{
        PhysicalExpr,
        expressions::{BinaryExpr, Column, DynamicFilterPhysicalExpr, Literal},
        split_conjunction,
        utils::collect_columns,
    },
    physical_expr_common::physical_expr::{is_volatile, snapshot_generation, snapshot_physical_expr},
};

use super::{
    filter::{comparable, comparison},
    stream::with_types,
};
use crate::{
    error::outer,
    joins::FoundKeys,
    optimizer::{is_last, without_mark},
};

/// A filter that leaves more than this share of the rows costs more than it spares.
const WORTH_IT: f64 = 0.8;
/// Rows after which a filter is known.
const TRIED: usize = 1 << 16;

/// Makes a question about the column at a place one of the storage, if that answers it.
pub(super) type Ask<'s> = dyn Fn(usize, Test) -> Option<UnitFilter> + 's;

/// A condition over the columns that a scan reads.
#[derive(Clone, Debug)]
pub(super) struct Predicate {
    pub expr: Arc<dyn PhysicalExpr>,
    /// Whether it changes while the scan runs. Whoever changes it does without the scan's answer, too.
    pub is_dynamic: bool,
    /// Whether it is asked of the rows that all others leave: it may fail for the rest.
    pub is_last: bool,
    /// What the join whose filter it is found, by the filter's children.
    pub keys: Option<Arc<FoundKeys>>,
}

impl Predicate {
    /// The parts of a condition; `None` if it has other answers each time.
    pub(super) fn parts(condition: &Arc<dyn PhysicalExpr>) -> Result<Option<Vec<Self>>> {
        if is_volatile(condition) {
            return Ok(None);
        }
        let part = |expr: &Arc<dyn PhysicalExpr>| {
            let is_dynamic = expr.exists(|expr| Ok(expr.is::<DynamicFilterPhysicalExpr>()))?;
            Ok(Self { expr: without_mark(expr), is_dynamic, is_last: is_last(expr), keys: None })
        };
        split_conjunction(condition).into_iter().map(part).collect::<Result<_>>().map(Some)
    }
}

/// The predicates of a scan as one thread evaluates them.
pub(super) struct Predicates {
    schema: SchemaRef,
    constant: Vec<Check>,
    dynamic: Vec<Dynamic>,
}

impl Predicates {
    /// Predicates over columns of this schema.
    pub(super) fn new(predicates: &[Predicate], schema: &SchemaRef) -> Result<Self> {
        let (dynamic, constant): (Vec<_>, Vec<_>) = predicates.iter().partition(|one| one.is_dynamic);
        let constant = constant
            .into_iter()
            .map(|one| Ok(Check { is_last: one.is_last, ..Check::new(&one.expr, schema)? }))
            .collect::<Result<_>>()?;
        let dynamic = dynamic.into_iter().map(Dynamic::new).collect();
        Ok(Self { schema: schema.clone(), constant, dynamic })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.constant.is_empty() && self.dynamic.is_empty()
    }

    /// What is to be asked, those first that left fewest rows so far, and those last that may fail, as they come.
    fn checks(&mut self) -> Vec<&mut Check> {
        let dynamic = self.dynamic.iter_mut().flat_map(|dynamic| dynamic.checks.iter_mut());
        let mut checks: Vec<_> =
            self.constant.iter_mut().chain(dynamic).filter(|check| check.is_worth_it()).collect();
        let rank = |check: &Check| (check.is_last, if check.is_last { 0.0 } else { check.tally.share() });
        checks.sort_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(Ordering::Equal));
        checks
    }

    /// What is asked of a unit before anything of it is decoded.
    pub(super) fn filters(&mut self, ask: &Ask<'_>) -> Result<Vec<UnitFilter>> {
        let mut filters = Vec::new();
        for dynamic in &mut self.dynamic {
            dynamic.refresh(&self.schema, Some(ask))?;
            filters.extend(dynamic.filters.iter().cloned());
        }
        Ok(filters)
    }

    /// As [`Predicates::filters`], with those that [`Predicates::narrow`] asks: for rows, which are not narrowed.
    pub(super) fn all_filters(&mut self, ask: &Ask<'_>) -> Result<Vec<UnitFilter>> {
        let mut filters = self.filters(ask)?;
        let sets = self.dynamic.iter().flat_map(|dynamic| &dynamic.sets);
        filters.extend(sets.filter(|set| set.tally.is_worth_it()).map(|set| set.filter.clone()));
        Ok(filters)
    }

    /// Leaves out the rows of a unit that do not fit. Returns whether any is left.
    pub(super) fn narrow(&mut self, unit: &mut Unit<'_>) -> Result<bool> {
        let sets = self.dynamic.iter_mut().flat_map(|dynamic| &mut dynamic.sets);
        let mut sets: Vec<_> = sets.filter(|set| set.tally.is_worth_it()).collect();
        sets.sort_by(|a, b| a.tally.share().partial_cmp(&b.tally.share()).unwrap_or(Ordering::Equal));
        for set in sets {
            if !set.narrow(unit)? {
                return Ok(false);
            }
        }
        for check in self.checks() {
            let columns = unit.columns(&check.columns).map_err(outer)?;
            let Some(kept) = check.kept(columns)? else { continue };
            if kept.count_set_bits() == 0 {
                return Ok(false);
            }
            unit.keep(&kept).map_err(outer)?;
        }
        Ok(true)
    }

    /// The rows of a batch of a unit that fit. What has changed since the unit was begun is asked here.
    pub(super) fn filtered(&mut self, mut batch: RecordBatch) -> Result<RecordBatch> {
        for dynamic in &mut self.dynamic {
            dynamic.refresh(&self.schema, None)?;
        }
        for check in self.checks() {
            if batch.num_rows() > 0
                && let Some(kept) = check.kept(batch.project(&check.columns)?)?
            {
                batch = filter_record_batch(&batch, &BooleanArray::new(kept, None))?;
            }
        }
        Ok(batch)
    }
}

/// A condition that changes while the scan runs.
struct Dynamic {
    expr: Arc<dyn PhysicalExpr>,
    /// Which of its changes the parts are of.
    generation: Option<u64>,
    /// Whether the storage was asked what it can.
    is_asked: bool,
    /// Its parts that storages answer.
    filters: Vec<UnitFilter>,
    /// Its other parts.
    checks: Vec<Check>,
    /// What the join found, and the places of its keys among the columns, where they are columns.
    keys: Option<(Arc<FoundKeys>, Vec<Option<usize>>)>,
    /// The same as questions of storages, once it is known.
    sets: Vec<SetCheck>,
    /// Whether they say all that the condition does, but for bounds.
    is_all_said: bool,
}

impl Dynamic {
    fn new(predicate: &Predicate) -> Self {
        let places = || predicate.expr.children().into_iter().map(key_column).collect();
        Self {
            expr: predicate.expr.clone(),
            generation: None,
            is_asked: false,
            filters: Vec::new(),
            checks: Vec::new(),
            keys: predicate.keys.clone().map(|found| (found, places())),
            sets: Vec::new(),
            is_all_said: false,
        }
    }

    /// Takes over what the join found, once.
    fn take_keys(&mut self, ask: &Ask<'_>) {
        let Some((found, places)) = &self.keys else { return };
        let Some(questions) = found.questions() else { return };
        let asked = questions.iter().zip(places).map(|(test, place)| ask((*place)?, test.clone()?));
        let asked: Vec<Option<UnitFilter>> = asked.collect();
        self.is_all_said = matches!(&asked[..], [Some(_)]);
        self.sets = asked.into_iter().flatten().map(SetCheck::new).collect();
        self.keys = None;
        // Its parts are to be looked at again.
        self.generation = None;
    }

    /// Takes over what has changed. With nobody to ask all parts are checks.
    fn refresh(&mut self, schema: &SchemaRef, ask: Option<&Ask<'_>>) -> Result<()> {
        if let Some(ask) = ask {
            self.take_keys(ask);
        }
        let generation = snapshot_generation(&self.expr);
        if self.generation == Some(generation) && (self.is_asked || ask.is_none()) {
            return Ok(());
        }
        self.is_asked = ask.is_some();
        let now = snapshot_physical_expr(self.expr.clone())?;
        (self.filters, self.checks) = (Vec::new(), Vec::new());
        for part in split_conjunction(&now) {
            if is_true(part) || is_of_nested(part, schema) {
                continue;
            }
            let question = question(part).zip(ask);
            match question.and_then(|((place, test), ask)| ask(place, test)) {
                Some(filter) => self.filters.push(filter),
                None if self.is_all_said && !is_comparison(part) => {}
                None => {
                    let check = Check::new(part, schema)?;
                    self.checks.push(Check { can_be_left: true, ..check });
                }
            }
        }
        self.generation = Some(generation);
        Ok(())
    }
}

/// Whether it compares, as bounds do.
fn is_comparison(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<BinaryExpr>().is_some_and(|binary| comparison(*binary.op()).is_some())
}

/// The place of a join's key among the columns, if it is one of them.
fn key_column(key: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    key.downcast_ref::<Column>().map(Column::index)
}

/// A question about one column that a join found.
struct SetCheck {
    filter: UnitFilter,
    tally: Tally,
}

impl SetCheck {
    fn new(filter: UnitFilter) -> Self {
        Self { filter, tally: Tally::default() }
    }

    /// Leaves out the rows of a unit that the other side of the join has not. Returns whether any is left.
    fn narrow(&mut self, unit: &mut Unit<'_>) -> Result<bool> {
        let tried = unit.rows();
        let is_left = unit.narrow(&self.filter).map_err(outer)?;
        self.tally.add(tried, if is_left { unit.rows() } else { 0 });
        Ok(is_left)
    }
}

/// What a filter did so far.
#[derive(Clone, Copy, Default)]
struct Tally {
    tried: usize,
    left: usize,
}

impl Tally {
    fn add(&mut self, tried: usize, left: usize) {
        self.tried += tried;
        self.left += left;
    }

    /// The share of rows that fitted; zero before any was tried.
    fn share(self) -> f64 {
        self.left as f64 / self.tried.max(1) as f64
    }

    /// Whether it is not known yet, or leaves out enough, to be asked where it need not be.
    fn is_worth_it(self) -> bool {
        self.tried < TRIED || self.share() < WORTH_IT
    }
}

/// Whether it asks of a list, a struct or a map. The bounds that a join or a sort found of them are wrong where there are NULLs within: the
/// planner (DataFusion 55) takes two structs with a NULL for not comparable.
fn is_of_nested(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    collect_columns(expr).iter().any(|column| schema.field(column.index()).data_type().is_nested())
}

fn is_true(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<Literal>().is_some_and(|literal| *literal.value() == ScalarValue::Boolean(Some(true)))
}

/// A comparison of a column with a constant as a question of storages about the column at a place.
fn question(expr: &Arc<dyn PhysicalExpr>) -> Option<(usize, Test)> {
    let binary = expr.downcast_ref::<BinaryExpr>()?;
    if matches!(binary.op(), Operator::And | Operator::Or) {
        return None;
    }
    let compare = comparison(*binary.op())?;
    let column = |expr: &Arc<dyn PhysicalExpr>| expr.downcast_ref::<Column>().map(Column::index);
    let constant = |expr: &Arc<dyn PhysicalExpr>| comparable(expr.downcast_ref::<Literal>()?.value());
    match (column(binary.left()), column(binary.right())) {
        (Some(place), None) => Some((place, Test::Compare(compare, constant(binary.right())?))),
        (None, Some(place)) => Some((place, Test::Compare(compare.turned(), constant(binary.left())?))),
        _ => None,
    }
}

/// A condition over some columns.
struct Check {
    /// Over these columns only.
    expr: Arc<dyn PhysicalExpr>,
    columns: Vec<usize>,
    schema: SchemaRef,
    /// Whether rows that do not fit may be handed out.
    can_be_left: bool,
    is_last: bool,
    tally: Tally,
}

impl Check {
    fn new(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Self> {
        let mut columns: Vec<usize> = collect_columns(expr).iter().map(Column::index).collect();
        columns.sort_unstable();
        columns.dedup();
        let own = |expr: Arc<dyn PhysicalExpr>| {
            let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
            let place = columns.binary_search(&column.index()).expect("among its columns");
            Ok(Transformed::yes(Arc::new(Column::new(column.name(), place)) as Arc<dyn PhysicalExpr>))
        };
        let expr = expr.clone().transform_up(own)?.data;
        let schema = Arc::new(schema.project(&columns)?);
        Ok(Self { expr, columns, schema, can_be_left: false, is_last: false, tally: Tally::default() })
    }

    fn is_worth_it(&self) -> bool {
        !self.can_be_left || self.tally.is_worth_it()
    }

    /// Which rows fit; `None` if all do.
    fn kept(&mut self, columns: RecordBatch) -> Result<Option<BooleanBuffer>> {
        let rows = columns.num_rows();
        let columns = with_types(columns, &self.schema)?;
        let answers = self.expr.evaluate(&columns)?.into_array(rows)?;
        let answers = answers.as_boolean();
        let kept = match answers.nulls() {
            Some(_) => prep_null_mask_filter(answers).values().clone(),
            None => answers.values().clone(),
        };
        let left = kept.count_set_bits();
        self.tally.add(rows, left);
        Ok((left < rows).then_some(kept))
    }
}
