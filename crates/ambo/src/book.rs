//! The examples of the book and of the README, run as documentation tests.

/// Includes a page whose examples are tests.
macro_rules! pages {
    ($($page:ident = $path:literal),* $(,)?) => {$(
        #[doc = include_str!(concat!("../../../", $path))]
        struct $page;
    )*};
}

pages! {
    Readme = "README.md",
    Start = "docs/book/src/start.md",
    Storage = "docs/book/src/storage.md",
    Transactions = "docs/book/src/transactions.md",
    Durability = "docs/book/src/durability.md",
    Memory = "docs/book/src/memory.md",
    Loading = "docs/book/src/loading.md",
    Embedding = "docs/book/src/embedding.md",
    Operating = "docs/book/src/operating.md",
    Upgrading = "docs/book/src/upgrading.md",
    Uqi = "docs/book/src/uqi.md",
}
