//! The schema: the same as ../../schema.graphql.

use std::sync::Arc;

use async_graphql::{ComplexObject, Context, ID, InputObject, Interface, Object, Result, SimpleObject};

use crate::like::{PostPayload, like_post};
use crate::loaders::{Load, PageInfo, PostId, UserId, page, total};
use crate::records::{Comment, Post, User, comment_of, key_of, parts_of, post_of, user_of};
use crate::table::{Key, Page, Range};

const MAX_IDS: usize = 100;
const FEW: i32 = 5;

/// The ID of the viewer; None for an anonymous request.
pub struct Viewer(pub Option<String>);

impl Viewer {
    fn may_see(&self, user: &User) -> bool {
        !user.is_deleted || self.0.as_deref() == Some(user.user_id.as_str())
    }
}

#[derive(Interface)]
#[graphql(field(name = "id", ty = "&ID"))]
pub enum Node {
    User(Arc<User>),
    Post(Arc<Post>),
    Comment(Arc<Comment>),
}

#[derive(InputObject)]
struct UserBy {
    id: Option<ID>,
    username: Option<String>,
}

#[derive(InputObject)]
struct PostBy {
    id: Option<ID>,
}

#[derive(InputObject)]
struct LikePostInput {
    post_id: ID,
}

#[derive(SimpleObject)]
struct UserFollowersConnection {
    nodes: Vec<Arc<User>>,
    page_info: PageInfo,
    total_count: i64,
}

#[derive(SimpleObject)]
struct UserPostsConnection {
    nodes: Vec<Arc<Post>>,
    page_info: PageInfo,
    total_count: i64,
}

#[derive(SimpleObject)]
struct PostConnection {
    nodes: Vec<Arc<Post>>,
    page_info: PageInfo,
}

struct PostCommentsConnection<'a> {
    nodes: Vec<Arc<Comment>>,
    page_info: PageInfo,
    post: &'a Post,
}

#[Object]
impl PostCommentsConnection<'_> {
    async fn nodes(&self) -> &[Arc<Comment>] {
        &self.nodes
    }

    async fn page_info(&self) -> &PageInfo {
        &self.page_info
    }

    async fn total_count(&self, ctx: &Context<'_>) -> Result<i64> {
        total(ctx, self.post, "commentCount", self.post.said_count).await
    }
}

pub struct QueryRoot;
pub struct MutationRoot;

#[Object]
impl QueryRoot {
    async fn node(&self, ctx: &Context<'_>, id: ID) -> Result<Option<Node>> {
        Ok(nodes(ctx, &[id]).await?.remove(0))
    }

    async fn nodes(&self, ctx: &Context<'_>, ids: Vec<ID>) -> Result<Vec<Option<Node>>> {
        if ids.len() > MAX_IDS {
            return Err(format!("ask for {MAX_IDS} at a time").into());
        }
        nodes(ctx, &ids).await
    }

    async fn user(&self, ctx: &Context<'_>, by: UserBy) -> Result<Option<Arc<User>>> {
        if let Some(id) = by.id {
            return user(ctx, key_of(&id, "User")?).await;
        }
        let username = by.username.ok_or("pass an id or a username")?.trim().to_lowercase();
        let limit = FEW;
        let range = Range {
            index: "GSI1",
            pk: format!("USERNAME#{username}"),
            prefix: "USER",
            newest_first: false,
            limit,
            start: None,
        };
        let found = ctx.data_unchecked::<Load>().load_one(range).await?;
        let viewer = ctx.data_unchecked::<Viewer>();
        let users = found
            .iter()
            .flat_map(|page| page.items.iter().cloned().filter_map(user_of));
        Ok(users.filter(|user| viewer.may_see(user)).map(Arc::new).next())
    }

    async fn post(&self, ctx: &Context<'_>, by: PostBy) -> Result<Option<Arc<Post>>> {
        let post_id = key_of(&by.id.ok_or("pass an id")?, "Post")?;
        Ok(ctx.data_unchecked::<Load>().load_one(PostId(post_id)).await?)
    }

    async fn feed(&self, ctx: &Context<'_>, #[graphql(default = 20)] first: i32) -> Result<Option<PostConnection>> {
        let (nodes, page_info) = page(
            ctx.data_unchecked(),
            range("GSI3", "FEED".into(), "POST#", true),
            first,
            posts,
        )
        .await?;
        Ok(Some(PostConnection { nodes, page_info }))
    }
}

#[Object]
impl MutationRoot {
    async fn like_post(&self, ctx: &Context<'_>, input: LikePostInput) -> Result<Option<PostPayload>> {
        let viewer = ctx.data_unchecked::<Viewer>();
        like_post(ctx, viewer.0.as_deref(), &input.post_id).await.map(Some)
    }
}

#[ComplexObject]
impl User {
    async fn followers(
        &self,
        ctx: &Context<'_>,
        #[graphql(default = 20)] first: i32,
    ) -> Result<Option<UserFollowersConnection>> {
        let load = ctx.data_unchecked::<Load>();
        let viewer = ctx.data_unchecked::<Viewer>();
        let followers = |found: Arc<Page>| async move {
            let ids = found
                .items
                .iter()
                .filter_map(|link| link.get("followerId")?.as_s().ok().cloned());
            let ids: Vec<UserId> = ids.map(UserId).collect();
            let users = load.load_many(ids.iter().cloned()).await?;
            let seen = ids
                .iter()
                .filter_map(|id| users.get(id))
                .filter(|user| viewer.may_see(user));
            Ok(seen.cloned().collect())
        };
        let within = range("GSI2", format!("USER#{}", self.user_id), "FOLLOWER#", true);
        let (nodes, page_info) = page(load, within, first, followers).await?;
        Ok(Some(UserFollowersConnection {
            nodes,
            page_info,
            total_count: self.follower_count,
        }))
    }

    async fn posts(
        &self,
        ctx: &Context<'_>,
        #[graphql(default = 20)] first: i32,
    ) -> Result<Option<UserPostsConnection>> {
        let within = range("GSI1", format!("USER#{}", self.user_id), "POST#", true);
        let (nodes, page_info) = page(ctx.data_unchecked(), within, first, posts).await?;
        Ok(Some(UserPostsConnection {
            nodes,
            page_info,
            total_count: self.post_count,
        }))
    }
}

#[ComplexObject]
impl Post {
    async fn author(&self, ctx: &Context<'_>) -> Result<Option<Arc<User>>> {
        user(ctx, self.user_id.clone()).await
    }

    async fn like_count(&self, ctx: &Context<'_>) -> Result<i64> {
        total(ctx, self, "likeCount", self.likes).await
    }

    async fn comment_count(&self, ctx: &Context<'_>) -> Result<i64> {
        total(ctx, self, "commentCount", self.said_count).await
    }

    async fn viewer_has_liked(&self, ctx: &Context<'_>) -> Result<bool> {
        match &ctx.data_unchecked::<Viewer>().0 {
            _ if self.is_liked => Ok(true),
            None => Ok(false),
            Some(viewer) => {
                let key = Key::new(format!("POST#{}", self.post_id), format!("LIKE#{viewer}"));
                Ok(ctx.data_unchecked::<Load>().load_one(key).await?.is_some())
            }
        }
    }

    async fn comments(
        &self,
        ctx: &Context<'_>,
        #[graphql(default = 20)] first: i32,
    ) -> Result<Option<PostCommentsConnection<'_>>> {
        let comments = |found: Arc<Page>| async move {
            Ok(found
                .items
                .iter()
                .cloned()
                .filter_map(comment_of)
                .map(Arc::new)
                .collect())
        };
        let within = range("", format!("POST#{}", self.post_id), "COMMENT#", false);
        let (nodes, page_info) = page(ctx.data_unchecked(), within, first, comments).await?;
        Ok(Some(PostCommentsConnection {
            nodes,
            page_info,
            post: self,
        }))
    }
}

#[ComplexObject]
impl Comment {
    async fn author(&self, ctx: &Context<'_>) -> Result<Option<Arc<User>>> {
        user(ctx, self.user_id.clone()).await
    }
}

fn range(index: &'static str, pk: String, prefix: &'static str, newest_first: bool) -> Range {
    Range {
        index,
        pk,
        prefix,
        newest_first,
        limit: 0,
        start: None,
    }
}

async fn posts(found: Arc<Page>) -> Result<Vec<Arc<Post>>> {
    Ok(found.items.iter().cloned().filter_map(post_of).map(Arc::new).collect())
}

async fn user(ctx: &Context<'_>, user_id: String) -> Result<Option<Arc<User>>> {
    let found = ctx.data_unchecked::<Load>().load_one(UserId(user_id)).await?;
    let viewer = ctx.data_unchecked::<Viewer>();
    Ok(found.filter(|user| viewer.may_see(user)))
}

async fn nodes(ctx: &Context<'_>, ids: &[ID]) -> Result<Vec<Option<Node>>> {
    let keys = ids.iter().map(|id| parts_of(id)).collect::<Result<Vec<_>>>()?;
    if let Some(at) = keys.iter().position(|(kind, _)| kind != "User" && kind != "Post") {
        return Err(format!("{} is not an id", ids[at].as_str()).into());
    }
    let load = ctx.data_unchecked::<Load>();
    let of = |wanted: &'static str| {
        keys.iter()
            .filter(move |(kind, _)| kind == wanted)
            .map(|(_, value)| value.clone())
    };
    let (users, posts) = futures_util::future::join(
        load.load_many(of("User").map(UserId)),
        load.load_many(of("Post").map(PostId)),
    )
    .await;
    let (users, posts, viewer) = (users?, posts?, ctx.data_unchecked::<Viewer>());
    let found = keys.into_iter().map(|(kind, value)| {
        if kind == "User" {
            users
                .get(&UserId(value))
                .filter(|user| viewer.may_see(user))
                .cloned()
                .map(Node::User)
        } else {
            posts.get(&PostId(value)).cloned().map(Node::Post)
        }
    });
    Ok(found.collect())
}
