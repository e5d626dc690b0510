//! Cutting a tree at keys into several. Leaves are linked, not rewritten, but for those that a key cuts through: what is written is a leaf
//! or two for each cut, and inner pages.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ambo_pages::page::PageRange;
use ambo_types::{Error, Result, record::Record};

use super::{
    BuildOptions, TreeBuilder, TreeMeta,
    builder::{Adopted, Ceiling},
    key_reader::KeyReader,
    leaf::Stored,
    merge::coalesce,
    tree::Tree,
    walk::LeafWalker,
};

/// What a tree was cut into.
#[derive(Debug)]
pub struct Split {
    /// The trees; some may be empty.
    pub trees: Vec<TreeMeta>,
    /// Pages of the tree that none of them refers to.
    pub freed: Vec<PageRange>,
    /// Pages that were written for them.
    pub written: Vec<PageRange>,
}

/// Cuts a tree at keys, which ascend: what is below the first is one stretch, and so on. `of` says for each stretch which of the new trees
/// it becomes part of.
///
/// # Errors
/// Damage, what writing pages gives, and [`Error::Cancelled`]. Nothing that was written is left then.
pub fn split(
    tree: &Arc<Tree>,
    at: &[Vec<u8>],
    of: &[usize],
    build: &BuildOptions,
    cancel: &AtomicBool,
) -> Result<Split> {
    assert_eq!(of.len(), at.len() + 1, "each stretch becomes part of a tree");
    assert!(at.is_sorted_by(|one, next| one < next), "a tree is cut from left to right");
    let mut splitter = Splitter {
        tree,
        at,
        of,
        build,
        stretch: 0,
        builders: of.iter().max().map_or(Vec::new(), |last| (0..=*last).map(|_| None).collect()),
        key: Vec::new(),
        split: Split { trees: Vec::new(), freed: Vec::new(), written: Vec::new() },
    };
    splitter.split.trees.resize(splitter.builders.len(), TreeMeta::default());
    match splitter.walk(cancel) {
        Ok(()) => Ok(splitter.split),
        Err(error) => {
            tree.store.free(splitter.split.written);
            Err(error)
        }
    }
}

struct Splitter<'t> {
    tree: &'t Tree,
    at: &'t [Vec<u8>],
    of: &'t [usize],
    build: &'t BuildOptions,
    /// The current one.
    stretch: usize,
    /// Of the trees that are begun and go on.
    builders: Vec<Option<TreeBuilder>>,
    key: Vec<u8>,
    split: Split,
}

impl Splitter<'_> {
    fn walk(&mut self, cancel: &AtomicBool) -> Result<()> {
        let mut walker = LeafWalker::new(self.tree);
        while walker.advance()? {
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            self.leaf(&walker)?;
        }
        for tree in 0..self.builders.len() {
            self.finish(tree)?;
        }
        let mut freed = std::mem::take(&mut self.split.freed);
        freed.extend(walker.into_inner_pages().into_iter().map(PageRange::from));
        self.split.freed = coalesce(freed);
        Ok(())
    }

    /// Goes on to the stretch of a key. Trees that have nothing behind it are finished.
    fn go_to(&mut self, key: &[u8]) -> Result<()> {
        while self.at.get(self.stretch).is_some_and(|at| at.as_slice() <= key) {
            self.stretch += 1;
            let before = self.of[self.stretch - 1];
            if !self.of[self.stretch..].contains(&before) {
                self.finish(before)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, tree: usize) -> Result<()> {
        if let Some(builder) = self.builders[tree].take() {
            let (meta, mut pages) = builder.finish_with_pages()?;
            self.split.trees[tree] = meta;
            self.split.written.append(&mut pages);
        }
        Ok(())
    }

    /// What takes the entries of the current stretch.
    fn builder(&mut self) -> &mut TreeBuilder {
        let Self { tree, of, build, stretch, builders, .. } = self;
        builders[of[*stretch]]
            .get_or_insert_with(|| TreeBuilder::new(&tree.store, BuildOptions::clone(build)))
    }

    fn leaf(&mut self, walker: &LeafWalker<'_>) -> Result<()> {
        self.go_to(walker.lower())?;
        let is_whole = match (self.at.get(self.stretch), walker.upper()) {
            (None, _) => true,
            (Some(at), Some(upper)) => upper <= at.as_slice(),
            (Some(_), None) => false,
        };
        if is_whole && walker.summary().is_some() { self.link(walker) } else { self.take_apart(walker) }
    }

    fn link(&mut self, walker: &LeafWalker<'_>) -> Result<()> {
        let tree = self.tree;
        let builder = self.builder();
        if !builder.is_behind_all(walker.lower()) {
            return Err(tree.damaged(walker.leaf(), "separators out of order"));
        }
        builder.adopt_leaf(&Adopted {
            ptr: walker.leaf(),
            entries: walker.entries(),
            summary: walker.summary().unwrap_or_default(),
            filter: walker.filter()?,
            lower: walker.lower(),
            ceiling: walker.upper().map_or(Ceiling::End, Ceiling::Below),
            compression: tree.meta().compression,
        })
    }

    fn take_apart(&mut self, walker: &LeafWalker<'_>) -> Result<()> {
        let (page, view) = walker.read()?;
        let tree = self.tree;
        let damaged = |what| tree.damaged(walker.leaf(), what);
        let mut keys = KeyReader::default();
        let mut key = std::mem::take(&mut self.key);
        for index in 0..view.len() {
            keys.key_into(&page, &view.keys, index, &mut key).map_err(damaged)?;
            self.go_to(&key)?;
            let (stored, range) = view.record(&page, index).map_err(damaged)?;
            let builder = self.builder();
            if !builder.is_behind_all(&key) {
                return Err(damaged("keys out of order"));
            }
            let bytes = &page[range];
            match stored {
                Stored::Plain(kind) => builder.push(&key, Record { kind, bytes })?,
                Stored::Packed => builder.push_packed(&key, bytes)?,
            }
        }
        self.key = key;
        self.split.freed.push(walker.leaf().into());
        Ok(())
    }
}
