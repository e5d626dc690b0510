//! The index: a B+tree over the rows of an arena, whose nodes are never merged, moved or freed.
//!
//! After BtreeOLC (V. Leis et al., see `lock`): a descent reads optimistically and checks a node's version after it
//! has the version of the child; a writer locks the one node it changes, and its parent if the node splits.
//! Full inner nodes are split on the way down, so a split never climbs.
//!
//! **Thread safety.** Any number of readers and writers; no reader ever writes to shared memory.
//!
//! 1. A descent that was not restarted ends in the leaf whose fences enclose the key.
//! 2. Locks are taken from parent to child and only by version, without waiting: no deadlock.
//! 3. `root` changes only while the old root is locked. `tail` is a hint.
//! 4. Memory is allocated before anything is changed: [`Full`] leaves the tree as it was.

use super::{
    arena::{Arena, At, AtomicAt, Full},
    lock::Restart,
    node::{FANOUT, Inner, Node, Position},
    row::{self, Row},
};

/// See the module.
pub(super) struct Tree {
    pub(super) arena: Arena,
    root: AtomicAt<Node>,
    /// The rightmost leaf, or one that was: where ascending keys go.
    tail: AtomicAt<Node>,
}

/// Which leaf a descent looks for.
#[derive(Clone, Copy)]
pub(super) enum Target<'k> {
    /// The leaf that holds the key or would.
    Key(&'k [u8]),
    /// The leaf that holds or would hold the greatest key below this one.
    Below(&'k [u8]),
    /// The rightmost leaf.
    Last,
}

/// A leaf as it was at a version.
#[derive(Clone, Copy)]
pub(super) struct Leaf<'a> {
    pub(super) node: &'a Node,
    pub(super) version: u64,
}

/// A node with its place in the tree, as a writer's descent meets it.
#[derive(Clone, Copy)]
struct Visit<'a> {
    at: At<Node>,
    node: &'a Node,
    version: u64,
    /// The parent, its version and which of its children this is; the root has none.
    parent: Option<(&'a Inner, u64, usize)>,
}

/// Why an attempt to insert ended without success.
enum Stop {
    Restart,
    Full,
}

impl From<Restart> for Stop {
    fn from(_: Restart) -> Self {
        Self::Restart
    }
}

impl From<Full> for Stop {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

/// What [`Tree::insert`] did.
pub(super) enum Inserted {
    /// The new row is in the tree.
    New(At<Row>),
    /// The key has a row already; the tree is as it was.
    Found(At<Row>),
}

/// Repeats `attempt` until nothing changes beneath it.
pub(super) fn until_stable<T>(mut attempt: impl FnMut() -> Result<T, Restart>) -> T {
    loop {
        if let Ok(result) = attempt() {
            return result;
        }
    }
}

impl Tree {
    pub(super) fn new(arena: Arena) -> Result<Self, Full> {
        // SAFETY: written before it is used.
        let root = unsafe {
            let root = arena.allocate::<Node>(0)?;
            arena.write(root, Node::new(0, At::NULL, At::NULL));
            root
        };
        Ok(Self { arena, root: AtomicAt::new(root), tail: AtomicAt::new(root) })
    }

    /// The row of `key`.
    pub(super) fn find(&self, key: &[u8]) -> Option<At<Row>> {
        until_stable(|| {
            let leaf = self.leaf(Target::Key(key))?;
            Ok(self.look_up(leaf, key)?.1)
        })
    }

    /// Where a key stands in its leaf, and its row if it is there.
    #[inline]
    fn look_up(&self, leaf: Leaf<'_>, key: &[u8]) -> Result<(Position, Option<At<Row>>), Restart> {
        let position = leaf.node.position(&self.arena, key);
        let row = if position.exact { leaf.node.row(position.index) } else { At::NULL };
        leaf.node.lock.check(leaf.version)?;
        Ok((position, position.exact.then_some(row)))
    }

    /// Descends to a leaf. What is read from it counts after a check of its version.
    pub(super) fn leaf(&self, target: Target<'_>) -> Result<Leaf<'_>, Restart> {
        let (mut at, mut node, mut version) = self.enter()?;
        while node.level() > 0 {
            let index = match target {
                Target::Key(key) => node.position(&self.arena, key).after(),
                Target::Below(key) => node.position(&self.arena, key).index,
                Target::Last => node.count(),
            };
            (at, version) = self.step(self.inner(at), version, index)?;
            node = self.arena.get(at);
        }
        Ok(Leaf { node, version })
    }

    fn enter(&self) -> Result<(At<Node>, &Node, u64), Restart> {
        let at = self.root.load();
        let node = self.arena.get(at);
        let version = node.lock.read();
        // A root that was split before its version was read is the root no longer.
        if self.root.load() == at { Ok((at, node, version)) } else { Err(Restart) }
    }

    /// From a node at a version to its child `index`.
    fn step(&self, inner: &Inner, version: u64, index: usize) -> Result<(At<Node>, u64), Restart> {
        let child = inner.child(index);
        if child.is_null() {
            return Err(Restart);
        }
        // A search's probes depend on each other; fetched together they cost one wait for memory, not four.
        let is_leaf = inner.node.level() == 1;
        self.arena.prefetch(child, if is_leaf { size_of::<Node>() } else { size_of::<Inner>() });
        let child_version = self.arena.get(child).lock.read();
        // Had the child been split before its version was read, the parent would have changed before that.
        inner.node.lock.check(version)?;
        debug_assert_eq!(
            self.arena.get(child).level() + 1,
            inner.node.level(),
            "children are one level below"
        );
        Ok((child, child_version))
    }

    /// The root at this moment.
    pub(super) fn root(&self) -> At<Node> {
        self.root.load()
    }

    /// All of a node above level 0.
    pub(super) fn inner(&self, at: At<Node>) -> &Inner {
        assert!(self.arena.get(at).level() > 0);
        // SAFETY: nodes above level 0 are allocated as `Inner`, which begins with its `Node`.
        self.arena.get(unsafe { at.cast::<Inner>() })
    }

    /// Puts the row that `make_row` allocates in place of a key that has none. `make_row` is called at most once, and
    /// only if the key has no row.
    ///
    /// `near` is null or a leaf of this tree, and becomes the leaf of the key: of keys in order many go to the leaf of the one before,
    /// without a descent.
    pub(super) fn insert(
        &self,
        near: &mut At<Node>,
        key: &[u8],
        mut make_row: impl FnMut() -> Result<At<Row>, Full>,
    ) -> Result<Inserted, Full> {
        let mut made = None;
        let mut row = || match made {
            Some(row) => Ok(row),
            None => Ok(*made.insert(make_row()?)),
        };
        let mut attempt = self.insert_at(*near, key, &mut row);
        loop {
            if let Err(Stop::Restart) = attempt {
                attempt = self.append(near, key, &mut row);
            }
            if let Err(Stop::Restart) = attempt {
                attempt = self.try_insert(near, key, &mut row);
            }
            match attempt {
                Ok(inserted) => return Ok(inserted),
                Err(Stop::Full) => return Err(Full),
                Err(Stop::Restart) => {}
            }
        }
    }

    /// Inserts a key into a leaf that is its own and has room, without a descent. In any other case [`Stop`].
    fn insert_at(
        &self,
        at: At<Node>,
        key: &[u8],
        row: &mut impl FnMut() -> Result<At<Row>, Full>,
    ) -> Result<Inserted, Stop> {
        if at.is_null() {
            return Err(Stop::Restart);
        }
        let node = self.arena.get(at);
        debug_assert_eq!(node.level(), 0, "keys are near in a leaf");
        let leaf = Leaf { node, version: node.lock.read() };
        if !node.encloses(&self.arena, key) || node.is_full() {
            return Err(Stop::Restart);
        }
        match self.look_up(leaf, key)? {
            (_, Some(found)) => Ok(Inserted::Found(found)),
            (position, None) => self.insert_into(leaf, position.index, row),
        }
    }

    /// Inserts at a place in a leaf with room, if that is as it was.
    fn insert_into(
        &self,
        leaf: Leaf<'_>,
        index: usize,
        row: &mut impl FnMut() -> Result<At<Row>, Full>,
    ) -> Result<Inserted, Stop> {
        let row = row()?;
        let _lock = leaf.node.lock.lock(leaf.version)?;
        leaf.node.insert(&self.arena, index, row);
        Ok(Inserted::New(row))
    }

    /// Inserts a key behind all others into the rightmost leaf, without a descent. In any other case [`Stop`].
    fn append(
        &self,
        near: &mut At<Node>,
        key: &[u8],
        row: &mut impl FnMut() -> Result<At<Row>, Full>,
    ) -> Result<Inserted, Stop> {
        let tail = self.tail.load();
        let leaf = self.arena.get(tail);
        let version = leaf.lock.read();
        let count = leaf.count();
        let is_last_with_room = leaf.high().is_null() && count < FANOUT;
        if !is_last_with_room || !leaf.is_behind_all(&self.arena, key) {
            return Err(Stop::Restart);
        }
        leaf.lock.check(version)?;
        *near = tail;
        self.insert_into(Leaf { node: leaf, version }, count, row)
    }

    fn try_insert(
        &self,
        near: &mut At<Node>,
        key: &[u8],
        row: &mut impl FnMut() -> Result<At<Row>, Full>,
    ) -> Result<Inserted, Stop> {
        let (at, node, version) = self.enter()?;
        let mut visit = Visit { at, node, version, parent: None };
        while visit.node.level() > 0 {
            let inner = self.inner(visit.at);
            let index = visit.node.position(&self.arena, key).after();
            if visit.node.is_full() {
                self.split_inner(visit, inner, index)?;
                return Err(Stop::Restart);
            }
            let (at, version) = self.step(inner, visit.version, index)?;
            let parent = Some((inner, visit.version, index));
            visit = Visit { at, node: self.arena.get(at), version, parent };
        }
        let leaf = Leaf { node: visit.node, version: visit.version };
        let is_full = visit.node.is_full();
        let (position, found) = self.look_up(leaf, key)?;
        *near = visit.at;
        match found {
            Some(found) => Ok(Inserted::Found(found)),
            None if is_full => {
                let row = row()?;
                *near = self.split_leaf(visit, position, row)?;
                Ok(Inserted::New(row))
            }
            None => self.insert_into(leaf, position.index, row),
        }
    }

    /// Splits a full leaf and inserts `row`, whose position among all entries is given. Returns the leaf that has it.
    fn split_leaf(&self, visit: Visit<'_>, position: Position, row: At<Row>) -> Result<At<Node>, Stop> {
        let leaf = visit.node;
        let _parent_lock =
            visit.parent.map(|(parent, version, _)| parent.node.lock.lock(version)).transpose()?;
        let _lock = leaf.lock.lock(visit.version)?;
        // Ascending keys leave packed leaves behind.
        let is_append = position.index == FANOUT && leaf.high().is_null();
        let at = if is_append { FANOUT } else { FANOUT / 2 };
        let separator = if is_append { row } else { leaf.row(at) };
        // SAFETY: written before it is used.
        let right_at = unsafe {
            let right = self.arena.allocate::<Node>(0)?;
            self.arena.write(right, Node::new(0, separator, leaf.high()));
            right
        };
        debug_assert!(leaf.level() == 0 && leaf.is_full(), "a leaf that is as it was is full");
        let new_root = self.root_over(&visit)?;
        let right = self.arena.get(right_at);
        leaf.split_to(&self.arena, right, at, separator);
        let is_right = position.index > at || is_append;
        match is_right {
            true => right.insert(&self.arena, position.index - at, row),
            false => leaf.insert(&self.arena, position.index, row),
        }
        if cfg!(debug_assertions) {
            leaf.verify(&self.arena);
            right.verify(&self.arena);
        }
        self.publish_split(&visit, new_root, separator, right_at);
        if right.high().is_null() {
            self.tail.store(right_at);
        }
        Ok(if is_right { right_at } else { visit.at })
    }

    /// Splits a full inner node; `index` is the child that the descent was going to.
    fn split_inner(&self, visit: Visit<'_>, inner: &Inner, index: usize) -> Result<(), Stop> {
        let _parent_lock =
            visit.parent.map(|(parent, version, _)| parent.node.lock.lock(version)).transpose()?;
        let _lock = visit.node.lock.lock(visit.version)?;
        let is_append = index == FANOUT && visit.node.high().is_null();
        let at = if is_append { FANOUT - 1 } else { FANOUT / 2 };
        let separator = visit.node.row(at);
        // SAFETY: written before it is used.
        let right_at = unsafe {
            let right = self.arena.allocate::<Inner>(0)?;
            let level = visit.node.level();
            self.arena.write(right, Inner::new(level, separator, visit.node.high(), At::NULL));
            right
        };
        let new_root = self.root_over(&visit)?;
        inner.split_to(&self.arena, self.arena.get(right_at), at, separator);
        if cfg!(debug_assertions) {
            inner.node.verify(&self.arena);
            self.arena.get(right_at).node.verify(&self.arena);
        }
        // SAFETY: an `Inner` begins with its `Node`.
        self.publish_split(&visit, new_root, separator, unsafe { right_at.cast() });
        Ok(())
    }

    /// A new root over the node, if the node is the root.
    fn root_over(&self, visit: &Visit<'_>) -> Result<At<Inner>, Full> {
        if visit.parent.is_some() {
            return Ok(At::NULL);
        }
        debug_assert!(self.root.load() == visit.at, "the root changed without its lock");
        // SAFETY: written before it is used.
        unsafe {
            let root = self.arena.allocate::<Inner>(0)?;
            let level = visit.node.level() + 1;
            self.arena.write(root, Inner::new(level, At::NULL, At::NULL, visit.at));
            Ok(root)
        }
    }

    /// Makes `right` reachable. REQUIRES: the locks of the node and of its parent, which is not full.
    fn publish_split(&self, visit: &Visit<'_>, root: At<Inner>, separator: At<Row>, right: At<Node>) {
        debug_assert_eq!(root.is_null(), visit.parent.is_some(), "a split of the root makes a new one");
        debug_assert_eq!(self.arena.get(right).level(), visit.node.level(), "both halves are of one level");
        match visit.parent {
            Some((parent, _, index)) => parent.insert(&self.arena, index, separator, right),
            None => {
                self.arena.get(root).insert(&self.arena, 0, separator, right);
                // SAFETY: an `Inner` begins with its `Node`.
                self.root.store(unsafe { root.cast() });
            }
        }
    }

    /// The key of a row.
    pub(super) fn key(&self, row: At<Row>) -> &[u8] {
        row::key(&self.arena, row)
    }
}
