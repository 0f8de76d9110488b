// Package graph has the resolvers of the schema; gqlgen generates the rest of it.
package graph

import (
	"context"
	"fmt"
	"strings"

	"peer/records"
	"peer/table"
)

const (
	maxIDs = 100
	few    = 5
)

type (
	// Root returns the resolvers of each type.
	Root            struct{}
	queries         struct{}
	mutations       struct{}
	users           struct{}
	posts           struct{}
	comments        struct{}
	commentsOfAPost struct{}
)

func (Root) Query() QueryResolver                                   { return queries{} }
func (Root) Mutation() MutationResolver                             { return mutations{} }
func (Root) User() UserResolver                                     { return users{} }
func (Root) Post() PostResolver                                     { return posts{} }
func (Root) Comment() CommentResolver                               { return comments{} }
func (Root) PostCommentsConnection() PostCommentsConnectionResolver { return commentsOfAPost{} }

func (queries) Node(ctx context.Context, id string) (records.Node, error) {
	load, err := node(ctx, id)
	if err != nil {
		return nil, err
	}
	return load()
}

func (queries) Nodes(ctx context.Context, ids []string) ([]records.Node, error) {
	if len(ids) > maxIDs {
		return nil, fmt.Errorf("ask for %d at a time", maxIDs)
	}
	loads := make([]func() (records.Node, error), len(ids))
	for at, id := range ids {
		var err error
		if loads[at], err = node(ctx, id); err != nil {
			return nil, err
		}
	}
	nodes := make([]records.Node, len(ids))
	for at, load := range loads {
		var err error
		if nodes[at], err = load(); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// node starts to load a node, so that one goroutine can load many.
func node(ctx context.Context, id string) (func() (records.Node, error), error) {
	load := loadersOf(ctx)
	switch kind, value, err := records.PartsOf(id); {
	case err != nil:
		return nil, err
	case kind == "User":
		return asNode(load.users.LoadThunk(ctx, value)), nil
	case kind == "Post":
		return asNode(load.posts.LoadThunk(ctx, value)), nil
	}
	return nil, fmt.Errorf("%s is not an id", id)
}

// asNode returns a nil interface for a nil pointer.
func asNode[V any, P interface {
	*V
	records.Node
}](load func() (P, error)) func() (records.Node, error) {
	return func() (records.Node, error) {
		found, err := load()
		if found == nil {
			return nil, err
		}
		return found, err
	}
}

func (queries) User(ctx context.Context, by records.UserBy) (*records.User, error) {
	load := loadersOf(ctx)
	if by.ID != nil {
		userID, err := records.KeyOf(*by.ID, "User")
		if err != nil {
			return nil, err
		}
		return load.users.Load(ctx, userID)
	}
	if by.Username == nil {
		return nil, fmt.Errorf("pass an id or a username")
	}
	username := strings.ToLower(strings.TrimSpace(*by.Username))
	within := table.Range{Index: "GSI1", PK: "USERNAME#" + username, Prefix: "USER", Limit: few}
	found, err := load.ranges.Load(ctx, within)
	for _, item := range found.Items {
		if user := records.UserOf(item, load.viewerID); user != nil {
			return user, nil
		}
	}
	return nil, err
}

func (queries) Post(ctx context.Context, by records.PostBy) (*records.Post, error) {
	if by.ID == nil {
		return nil, fmt.Errorf("pass an id")
	}
	postID, err := records.KeyOf(*by.ID, "Post")
	if err != nil {
		return nil, err
	}
	return loadersOf(ctx).posts.Load(ctx, postID)
}

func (queries) Feed(ctx context.Context, first *int) (*records.PostConnection, error) {
	within := table.Range{Index: "GSI3", PK: "FEED", Prefix: "POST#", NewestFirst: true}
	nodes, pageInfo, err := page(ctx, loadersOf(ctx), within, *first, all(records.PostOf))
	return &records.PostConnection{Nodes: nodes, PageInfo: pageInfo}, err
}

func (users) Followers(ctx context.Context, user *records.User, first *int) (*records.UserFollowersConnection, error) {
	load := loadersOf(ctx)
	within := table.Range{Index: "GSI2", PK: "USER#" + user.UserID, Prefix: "FOLLOWER#", NewestFirst: true}
	followers := func(items []table.Item) ([]*records.User, error) {
		ids := make([]string, len(items))
		for at, item := range items {
			ids[at] = item.String("followerId")
		}
		return load.users.LoadAll(ctx, ids)
	}
	nodes, pageInfo, err := page(ctx, load, within, *first, followers)
	return &records.UserFollowersConnection{Nodes: nodes, PageInfo: pageInfo, TotalCount: user.FollowerCount}, err
}

func (users) Posts(ctx context.Context, user *records.User, first *int) (*records.UserPostsConnection, error) {
	within := table.Range{Index: "GSI1", PK: "USER#" + user.UserID, Prefix: "POST#", NewestFirst: true}
	nodes, pageInfo, err := page(ctx, loadersOf(ctx), within, *first, all(records.PostOf))
	return &records.UserPostsConnection{Nodes: nodes, PageInfo: pageInfo, TotalCount: user.PostCount}, err
}

func (posts) Author(ctx context.Context, post *records.Post) (*records.User, error) {
	return loadersOf(ctx).users.Load(ctx, post.UserID)
}

func (posts) LikeCount(ctx context.Context, post *records.Post) (int, error) {
	return loadersOf(ctx).total(ctx, post, "likeCount", post.Likes)
}

func (posts) CommentCount(ctx context.Context, post *records.Post) (int, error) {
	return loadersOf(ctx).total(ctx, post, "commentCount", post.Comments)
}

func (posts) ViewerHasLiked(ctx context.Context, post *records.Post) (bool, error) {
	load := loadersOf(ctx)
	if load.viewerID == "" {
		return false, nil
	}
	return load.likes.Load(ctx, post.PostID)
}

func (posts) Comments(ctx context.Context, post *records.Post, first *int) (*records.PostCommentsConnection, error) {
	within := table.Range{PK: "POST#" + post.PostID, Prefix: "COMMENT#"}
	nodes, pageInfo, err := page(ctx, loadersOf(ctx), within, *first, all(records.CommentOf))
	return &records.PostCommentsConnection{Post: post, Nodes: nodes, PageInfo: pageInfo}, err
}

func (commentsOfAPost) TotalCount(ctx context.Context, found *records.PostCommentsConnection) (int, error) {
	return posts{}.CommentCount(ctx, found.Post)
}

func (comments) Author(ctx context.Context, comment *records.Comment) (*records.User, error) {
	return loadersOf(ctx).users.Load(ctx, comment.UserID)
}
