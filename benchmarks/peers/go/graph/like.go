package graph

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"

	"peer/records"
	"peer/table"
)

const (
	notificationsKept = 30 * 24 * time.Hour
	attempts          = 3
)

// Places of the writes in the transaction.
const (
	none    = -1
	like    = 0
	counter = 1
	account = 2
)

func refused(code records.ProblemCode, message string, path ...string) *records.PostPayload {
	problem := records.Problem{Code: code, Message: message, Path: append([]string{}, path...)}
	return &records.PostPayload{Problems: []*records.Problem{&problem}}
}

func noSuchPost() *records.PostPayload {
	return refused(records.ProblemCodeNotFound, "there is no such post", "input", "postId")
}

// LikePost writes like, count, account check and notification in one transaction.
func (mutations) LikePost(ctx context.Context, input records.LikePostInput) (*records.PostPayload, error) {
	load := loadersOf(ctx)
	if load.viewerID == "" {
		return refused(records.ProblemCodeUnauthenticated, "sign in first: send `Authorization: Bearer <token>`"), nil
	}
	postID, err := records.KeyOf(input.PostID, "Post")
	if err != nil {
		return nil, err
	}
	post, err := load.posts.Load(ctx, postID)
	for attempt := 0; err == nil && post != nil && attempt < attempts; attempt++ {
		failed, err := writeLike(ctx, post, load.viewerID)
		if err != nil {
			return nil, err
		}
		if failed == account {
			return refused(records.ProblemCodeNotFound, "there is no open account for this token"), nil
		}
		item, err := table.GetItem(ctx, postKey(postID), true)
		if err != nil {
			return nil, err
		}
		post = records.PostOf(item)
		if post != nil && failed != counter {
			load.likes.Prime(postID, true)
			return &records.PostPayload{Post: post, Problems: []*records.Problem{}}, nil
		}
	}
	if err != nil || post == nil {
		return noSuchPost(), err
	}
	return refused(records.ProblemCodeConflict, "too much is happening to this post; try again"), nil
}

// writeLike returns the place of the write that canceled the transaction, if any.
func writeLike(ctx context.Context, post *records.Post, viewerID string) (int, error) {
	moment := time.Now().UTC()
	now := moment.Format("2006-01-02T15:04:05.000Z")
	writes := []types.TransactWriteItem{putLike(post, viewerID, now), countLike(post), checkAccount(viewerID)}
	if post.UserID != viewerID {
		writes = append(writes, putNotification(post, viewerID, moment, now))
	}
	err := table.Transact(ctx, uuid.NewString(), writes)
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		return none, err
	}
	for _, place := range []int{account, like} {
		if code := canceled.CancellationReasons[place].Code; code != nil && *code != "None" {
			return place, nil
		}
	}
	return counter, nil
}

func putLike(post *records.Post, viewerID, now string) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		Item: table.Item{
			"PK":            table.Text("POST#" + post.PostID),
			"SK":            table.Text("LIKE#" + viewerID),
			"GSI1PK":        table.Text("USER#" + viewerID),
			"GSI1SK":        table.Text("LIKE#" + now + "#" + post.PostID),
			"entityType":    table.Text("Like"),
			"schemaVersion": table.Number("1"),
			"postId":        table.Text(post.PostID),
			"userId":        table.Text(viewerID),
			"createdAt":     table.Text(now),
			"updatedAt":     table.Text(now),
		},
		ConditionExpression: aws.String("attribute_not_exists(PK)"),
	}}
}

func countLike(post *records.Post) types.TransactWriteItem {
	key := postKey(post.PostID)
	condition := "attribute_exists(PK) AND attribute_not_exists(deletedAt) AND attribute_not_exists(hiddenAt) " +
		"AND attribute_not_exists(counterShards)"
	if post.CounterShards > 0 {
		key.SK = fmt.Sprintf("COUNTER#%d", rand.IntN(post.CounterShards))
		condition = "attribute_exists(PK)"
	}
	return types.TransactWriteItem{Update: &types.Update{
		Key:                       key.Attributes(),
		UpdateExpression:          aws.String("ADD likeCount :one"),
		ExpressionAttributeValues: table.Item{":one": table.Number("1")},
		ConditionExpression:       &condition,
	}}
}

func checkAccount(viewerID string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		Key:                 table.Key{PK: "USER#" + viewerID, SK: "PROFILE"}.Attributes(),
		ConditionExpression: aws.String("attribute_exists(PK) AND attribute_not_exists(deletedAt)"),
	}}
}

func putNotification(post *records.Post, viewerID string, moment time.Time, now string) types.TransactWriteItem {
	notificationID := ulid.Make().String()
	return types.TransactWriteItem{Put: &types.Put{Item: table.Item{
		"PK":             table.Text("USER#" + post.UserID),
		"SK":             table.Text("NOTIFICATION#" + now + "#" + notificationID),
		"entityType":     table.Text("Notification"),
		"schemaVersion":  table.Number("1"),
		"userId":         table.Text(post.UserID),
		"notificationId": table.Text(notificationID),
		"kind":           table.Text("LIKE"),
		"actorId":        table.Text(viewerID),
		"postId":         table.Text(post.PostID),
		"createdAt":      table.Text(now),
		"updatedAt":      table.Text(now),
		"expiresAt":      table.Number(strconv.FormatInt(moment.Add(notificationsKept).Unix(), 10)),
	}}}
}
