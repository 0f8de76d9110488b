//! Batch functions of the DataLoader.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::dataloader::{DataLoader, Loader};
use async_graphql::{Context, Result, SimpleObject};
use futures_util::future::try_join_all;

use crate::records::{Post, User, post_of, user_of};
use crate::table::{Failed, Item, Key, Page, Range, Table, count};

const REFILL: i32 = 100;
const READS_A_PAGE: usize = 10;

pub struct Reader(pub Table);
pub type Load = DataLoader<Reader>;

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct UserId(pub String);

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PostId(pub String);

impl PostId {
    pub fn key(&self) -> Key {
        Key::new(format!("POST#{}", self.0), "METADATA")
    }
}

impl Loader<UserId> for Reader {
    type Value = Arc<User>;
    type Error = Failed;

    async fn load(&self, ids: &[UserId]) -> Result<HashMap<UserId, Arc<User>>, Failed> {
        let keys: Vec<Key> = ids
            .iter()
            .map(|id| Key::new(format!("USER#{}", id.0), "PROFILE"))
            .collect();
        let found = self.0.get_items(&keys).await?;
        let users = found.into_values().filter_map(user_of);
        Ok(users
            .map(|user| (UserId(user.user_id.clone()), Arc::new(user)))
            .collect())
    }
}

impl Loader<PostId> for Reader {
    type Value = Arc<Post>;
    type Error = Failed;

    async fn load(&self, ids: &[PostId]) -> Result<HashMap<PostId, Arc<Post>>, Failed> {
        let keys: Vec<Key> = ids.iter().map(PostId::key).collect();
        let found = self.0.get_items(&keys).await?;
        let posts = found.into_values().filter_map(post_of);
        Ok(posts
            .map(|post| (PostId(post.post_id.clone()), Arc::new(post)))
            .collect())
    }
}

/// Other items, such as likes and counters.
impl Loader<Key> for Reader {
    type Value = Arc<Item>;
    type Error = Failed;

    async fn load(&self, keys: &[Key]) -> Result<HashMap<Key, Arc<Item>>, Failed> {
        let found = self.0.get_items(keys).await?;
        Ok(found.into_iter().map(|(key, item)| (key, Arc::new(item))).collect())
    }
}

/// Resolves queries of one batch together, so that the loads they lead to are one batch again.
impl Loader<Range> for Reader {
    type Value = Arc<Page>;
    type Error = Failed;

    async fn load(&self, ranges: &[Range]) -> Result<HashMap<Range, Arc<Page>>, Failed> {
        let pages = try_join_all(ranges.iter().map(|range| self.0.query(range))).await?;
        Ok(ranges.iter().cloned().zip(pages.into_iter().map(Arc::new)).collect())
    }
}

#[derive(SimpleObject)]
pub struct PageInfo {
    pub has_next_page: bool,
}

/// Returns the first visible records. Reads one extra record, so has_next_page is exact.
pub async fn page<T, F: Future<Output = Result<Vec<T>>>>(
    load: &Load,
    mut range: Range,
    size: i32,
    see: impl Fn(Arc<Page>) -> F,
) -> Result<(Vec<T>, PageInfo)> {
    let mut nodes = Vec::new();
    let wanted = size.max(0) as usize;
    range.limit = size + 1;
    for _ in 0..READS_A_PAGE {
        let Some(found) = load.load_one(range.clone()).await? else {
            break;
        };
        range.start = found.next.clone();
        range.limit = REFILL;
        nodes.extend(see(found).await?);
        if nodes.len() > wanted || range.start.is_none() {
            break;
        }
    }
    let has_next_page = nodes.len() > wanted || range.start.is_some();
    nodes.truncate(wanted);
    Ok((nodes, PageInfo { has_next_page }))
}

/// Adds the shards of a counter to its base.
pub async fn total(ctx: &Context<'_>, post: &Post, name: &str, base: i64) -> Result<i64> {
    if post.counter_shards == 0 {
        return Ok(base);
    }
    let keys =
        (0..post.counter_shards).map(|shard| Key::new(format!("POST#{}", post.post_id), format!("COUNTER#{shard}")));
    let shares = ctx.data_unchecked::<Load>().load_many(keys).await?;
    Ok(base + shares.values().map(|share| count(share, name)).sum::<i64>())
}
