// Package records decodes items into the objects of the schema.
package records

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"peer/table"
)

type User struct {
	ID, UserID, Username                     string
	DisplayName, Bio                         *string
	FollowerCount, FollowingCount, PostCount int
}

type Post struct {
	ID, PostID, UserID, ImageURL, CreatedAt string
	Caption                                 *string
	Likes, Comments, CounterShards          int
}

type Comment struct {
	ID, UserID, Content, CreatedAt string
}

// PostCommentsConnection keeps its post, because the total may be sharded.
type PostCommentsConnection struct {
	Post     *Post
	Nodes    []*Comment
	PageInfo *PageInfo
}

func (User) IsNode()    {}
func (Post) IsNode()    {}
func (Comment) IsNode() {}

// UserOf returns nil if the viewer may not see the user.
func UserOf(item table.Item, viewerID string) *User {
	userID := item.String("userId")
	if isGone(item) || (item.Has("deletedAt") && userID != viewerID) {
		return nil
	}
	return &User{
		ID:             globalID("User", userID),
		UserID:         userID,
		Username:       item.String("username"),
		DisplayName:    item.Text("displayName"),
		Bio:            item.Text("bio"),
		FollowerCount:  Count(item, "followerCount"),
		FollowingCount: Count(item, "followingCount"),
		PostCount:      Count(item, "postCount"),
	}
}

// PostOf returns nil if the post is deleted or hidden.
func PostOf(item table.Item) *Post {
	if isGone(item) || item.Has("deletedAt") || item.Has("hiddenAt") {
		return nil
	}
	postID := item.String("postId")
	return &Post{
		ID:            globalID("Post", postID),
		PostID:        postID,
		UserID:        item.String("userId"),
		ImageURL:      item.String("imageUrl"),
		Caption:       item.Text("caption"),
		CreatedAt:     item.String("createdAt"),
		Likes:         Count(item, "likeCount"),
		Comments:      Count(item, "commentCount"),
		CounterShards: Count(item, "counterShards"),
	}
}

// CommentOf returns nil if the comment is hidden.
func CommentOf(item table.Item) *Comment {
	if isGone(item) || item.Has("hiddenAt") {
		return nil
	}
	createdAt := item.String("createdAt")
	return &Comment{
		ID:        globalID("Comment", item.String("postId"), createdAt, item.String("commentId")),
		UserID:    item.String("userId"),
		Content:   item.String("content"),
		CreatedAt: createdAt,
	}
}

// Count returns a number, 0 if it is missing.
func Count(item table.Item, attribute string) int {
	number, _ := strconv.Atoi(item.Number(attribute))
	return number
}

// PartsOf decodes an ID into its type and the first value of its key.
func PartsOf(id string) (string, string, error) {
	text, err := base64.RawURLEncoding.DecodeString(id)
	parts := strings.SplitN(string(text), "#", 3)
	if err != nil || len(parts) < 2 {
		return "", "", fmt.Errorf("%s is not an id", id)
	}
	return parts[0], parts[1], nil
}

// KeyOf decodes an ID of one type into the value of its key.
func KeyOf(id string, wanted string) (string, error) {
	found, value, err := PartsOf(id)
	if err != nil || found != wanted || value == "" {
		return "", fmt.Errorf("%s is not the id of a %s", id, wanted)
	}
	return value, nil
}

func globalID(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "#")))
}

// DynamoDB may remove an expired item days later.
func isGone(item table.Item) bool {
	return item == nil || (item.Has("expiresAt") && int64(Count(item, "expiresAt")) <= time.Now().Unix())
}
