//! Likes a post: like, count, account check and notification in one transaction.

use std::sync::Arc;

use async_graphql::{Context, Enum, Result, SimpleObject};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{ConditionCheck, Put, TransactWriteItem, Update};
use chrono::{SecondsFormat, Utc};

use crate::loaders::{Load, PostId};
use crate::records::{Post, key_of, post_of};
use crate::table::{Failed, Item, Key, Table, failed, number, text};

const NOTIFICATIONS_KEPT: i64 = 30 * 24 * 3600;
const ATTEMPTS: usize = 3;

// Places of the writes in the transaction.
const LIKE: usize = 0;
const COUNTER: usize = 1;
const ACCOUNT: usize = 2;

#[derive(Enum, Copy, Clone, PartialEq, Eq)]
pub enum ProblemCode {
    Invalid,
    Taken,
    NotFound,
    Unauthenticated,
    Forbidden,
    Conflict,
    RateLimited,
}

#[derive(SimpleObject)]
pub struct Problem {
    code: ProblemCode,
    message: &'static str,
    path: Vec<&'static str>,
}

#[derive(SimpleObject)]
pub struct PostPayload {
    problems: Vec<Problem>,
    post: Option<Arc<Post>>,
}

fn refused(code: ProblemCode, message: &'static str, path: &[&'static str]) -> PostPayload {
    PostPayload {
        problems: vec![Problem {
            code,
            message,
            path: path.to_vec(),
        }],
        post: None,
    }
}

pub async fn like_post(ctx: &Context<'_>, viewer: Option<&str>, id: &str) -> Result<PostPayload> {
    let Some(viewer) = viewer else {
        let message = "sign in first: send `Authorization: Bearer <token>`";
        return Ok(refused(ProblemCode::Unauthenticated, message, &[]));
    };
    let (load, table) = (ctx.data_unchecked::<Load>(), ctx.data_unchecked::<Table>());
    let post_id = PostId(key_of(id, "Post")?);
    let mut post = load.load_one(post_id.clone()).await?;
    for _ in 0..ATTEMPTS {
        let Some(known) = post.take() else { break };
        let canceled = write(table, &known, viewer).await?;
        if canceled == Some(ACCOUNT) {
            return Ok(refused(
                ProblemCode::NotFound,
                "there is no open account for this token",
                &[],
            ));
        }
        let fresh = table.get_item(&post_id.key(), true).await?.and_then(post_of);
        match fresh {
            Some(fresh) if canceled != Some(COUNTER) => {
                return Ok(PostPayload {
                    problems: vec![],
                    post: Some(Arc::new(Post {
                        is_liked: true,
                        ..fresh
                    })),
                });
            }
            fresh => post = fresh.map(Arc::new),
        }
    }
    Ok(match post {
        None => refused(ProblemCode::NotFound, "there is no such post", &["input", "postId"]),
        Some(_) => refused(
            ProblemCode::Conflict,
            "too much is happening to this post; try again",
            &[],
        ),
    })
}

/// Returns the place of the write that canceled the transaction, if any.
async fn write(table: &Table, post: &Post, viewer: &str) -> Result<Option<usize>, Failed> {
    let now = Utc::now();
    let moment = now.to_rfc3339_opts(SecondsFormat::Millis, true);
    let mut writes = vec![
        put(table, like(post, viewer, &moment), true)?,
        counter(table, post)?,
        account(table, viewer)?,
    ];
    if post.user_id != viewer {
        let expires_at = now.timestamp() + NOTIFICATIONS_KEPT;
        writes.push(put(table, notification(post, viewer, &moment, expires_at), false)?);
    }
    let Err(error) = table.transact(uuid::Uuid::new_v4().to_string(), writes).await else {
        return Ok(None);
    };
    let Some(TransactWriteItemsError::TransactionCanceledException(canceled)) = error.as_service_error() else {
        return Err(failed(error));
    };
    let has_failed = |place: &usize| {
        let reason = canceled
            .cancellation_reasons()
            .get(*place)
            .and_then(|reason| reason.code());
        reason.is_some_and(|code| code != "None")
    };
    Ok(Some([ACCOUNT, LIKE].into_iter().find(has_failed).unwrap_or(COUNTER)))
}

fn put(
    table: &Table,
    item: Vec<(&str, aws_sdk_dynamodb::types::AttributeValue)>,
    is_new: bool,
) -> Result<TransactWriteItem, Failed> {
    let item: Item = item.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let condition = is_new.then(|| "attribute_not_exists(PK)".to_owned());
    let put = Put::builder()
        .table_name(&table.name)
        .set_item(Some(item))
        .set_condition_expression(condition);
    Ok(TransactWriteItem::builder().put(put.build().map_err(failed)?).build())
}

fn like(post: &Post, viewer: &str, moment: &str) -> Vec<(&'static str, aws_sdk_dynamodb::types::AttributeValue)> {
    vec![
        ("PK", text(format!("POST#{}", post.post_id))),
        ("SK", text(format!("LIKE#{viewer}"))),
        ("GSI1PK", text(format!("USER#{viewer}"))),
        ("GSI1SK", text(format!("LIKE#{moment}#{}", post.post_id))),
        ("entityType", text("Like")),
        ("schemaVersion", number("1")),
        ("postId", text(&post.post_id)),
        ("userId", text(viewer)),
        ("createdAt", text(moment)),
        ("updatedAt", text(moment)),
    ]
}

fn counter(table: &Table, post: &Post) -> Result<TransactWriteItem, Failed> {
    let (sk, condition) = if post.counter_shards > 0 {
        (
            format!("COUNTER#{}", fastrand::i64(0..post.counter_shards)),
            "attribute_exists(PK)",
        )
    } else {
        let is_listed = "attribute_exists(PK) AND attribute_not_exists(deletedAt) AND attribute_not_exists(hiddenAt) \
                         AND attribute_not_exists(counterShards)";
        ("METADATA".to_owned(), is_listed)
    };
    let update = Update::builder()
        .table_name(&table.name)
        .set_key(Some(Key::new(format!("POST#{}", post.post_id), sk).attributes()))
        .update_expression("ADD likeCount :one")
        .expression_attribute_values(":one", number("1"))
        .condition_expression(condition);
    Ok(TransactWriteItem::builder()
        .update(update.build().map_err(failed)?)
        .build())
}

fn account(table: &Table, viewer: &str) -> Result<TransactWriteItem, Failed> {
    let check = ConditionCheck::builder()
        .table_name(&table.name)
        .set_key(Some(Key::new(format!("USER#{viewer}"), "PROFILE").attributes()))
        .condition_expression("attribute_exists(PK) AND attribute_not_exists(deletedAt)");
    Ok(TransactWriteItem::builder()
        .condition_check(check.build().map_err(failed)?)
        .build())
}

fn notification(
    post: &Post,
    viewer: &str,
    moment: &str,
    expires_at: i64,
) -> Vec<(&'static str, aws_sdk_dynamodb::types::AttributeValue)> {
    let notification_id = ulid::Ulid::new().to_string();
    vec![
        ("PK", text(format!("USER#{}", post.user_id))),
        ("SK", text(format!("NOTIFICATION#{moment}#{notification_id}"))),
        ("entityType", text("Notification")),
        ("schemaVersion", number("1")),
        ("userId", text(&post.user_id)),
        ("notificationId", text(notification_id)),
        ("kind", text("LIKE")),
        ("actorId", text(viewer)),
        ("postId", text(&post.post_id)),
        ("createdAt", text(moment)),
        ("updatedAt", text(moment)),
        ("expiresAt", number(expires_at.to_string())),
    ]
}
