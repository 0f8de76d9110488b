//! Decodes items into the objects of the schema.

use std::time::{SystemTime, UNIX_EPOCH};

use async_graphql::{ID, Result, SimpleObject};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use crate::table::{Item, count, take, take_if_any};

#[derive(SimpleObject)]
#[graphql(complex)]
pub struct User {
    pub id: ID,
    #[graphql(skip)]
    pub user_id: String,
    pub username: String,
    pub display_name: Option<String>,
    pub bio: Option<String>,
    pub follower_count: i64,
    pub following_count: i64,
    pub post_count: i64,
    #[graphql(skip)]
    pub is_deleted: bool,
}

#[derive(SimpleObject)]
#[graphql(complex)]
pub struct Post {
    pub id: ID,
    #[graphql(skip)]
    pub post_id: String,
    #[graphql(skip)]
    pub user_id: String,
    pub image_url: String,
    pub caption: Option<String>,
    pub created_at: String,
    #[graphql(skip)]
    pub likes: i64,
    #[graphql(skip)]
    pub said_count: i64,
    #[graphql(skip)]
    pub counter_shards: i64,
    /// True if the viewer has just liked the post.
    #[graphql(skip)]
    pub is_liked: bool,
}

#[derive(SimpleObject)]
#[graphql(complex)]
pub struct Comment {
    pub id: ID,
    #[graphql(skip)]
    pub user_id: String,
    pub content: String,
    pub created_at: String,
}

/// Returns a user, deleted or not, because they may be the viewer.
pub fn user_of(mut item: Item) -> Option<User> {
    if is_expired(&item) {
        return None;
    }
    let user_id = take(&mut item, "userId");
    Some(User {
        id: global_id(&["User", &user_id]),
        user_id,
        username: take(&mut item, "username"),
        display_name: take_if_any(&mut item, "displayName"),
        bio: take_if_any(&mut item, "bio"),
        follower_count: count(&item, "followerCount"),
        following_count: count(&item, "followingCount"),
        post_count: count(&item, "postCount"),
        is_deleted: item.contains_key("deletedAt"),
    })
}

pub fn post_of(mut item: Item) -> Option<Post> {
    if is_expired(&item) || item.contains_key("deletedAt") || item.contains_key("hiddenAt") {
        return None;
    }
    let post_id = take(&mut item, "postId");
    Some(Post {
        id: global_id(&["Post", &post_id]),
        post_id,
        user_id: take(&mut item, "userId"),
        image_url: take(&mut item, "imageUrl"),
        caption: take_if_any(&mut item, "caption"),
        created_at: take(&mut item, "createdAt"),
        likes: count(&item, "likeCount"),
        said_count: count(&item, "commentCount"),
        counter_shards: count(&item, "counterShards"),
        is_liked: false,
    })
}

pub fn comment_of(mut item: Item) -> Option<Comment> {
    if is_expired(&item) || item.contains_key("hiddenAt") {
        return None;
    }
    let created_at = take(&mut item, "createdAt");
    Some(Comment {
        id: global_id(&[
            "Comment",
            &take(&mut item, "postId"),
            &created_at,
            &take(&mut item, "commentId"),
        ]),
        user_id: take(&mut item, "userId"),
        content: take(&mut item, "content"),
        created_at,
    })
}

/// Decodes an ID into its type and the first value of its key.
pub fn parts_of(id: &str) -> Result<(String, String)> {
    let text = BASE64_URL_SAFE_NO_PAD
        .decode(id)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let mut parts = text.as_deref().unwrap_or_default().split('#');
    match (parts.next(), parts.next()) {
        (Some(kind), Some(value)) => Ok((kind.into(), value.into())),
        _ => Err(format!("{id} is not an id").into()),
    }
}

/// Decodes an ID of one type into the value of its key.
pub fn key_of(id: &str, wanted: &str) -> Result<String> {
    match parts_of(id)? {
        (kind, value) if kind == wanted && !value.is_empty() => Ok(value),
        _ => Err(format!("{id} is not the id of a {wanted}").into()),
    }
}

fn global_id(parts: &[&str]) -> ID {
    ID(BASE64_URL_SAFE_NO_PAD.encode(parts.join("#")))
}

/// DynamoDB may remove an expired item days later.
fn is_expired(item: &Item) -> bool {
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs() as i64
    };
    item.contains_key("expiresAt") && count(item, "expiresAt") <= now()
}
