// Package table reads and writes items with the low-level client of the AWS SDK, which avoids reflection.
package table

import (
	"context"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const connections = 64

var name = os.Getenv("TABLE_NAME")

var client = dynamodb.New(dynamodb.Options{
	BaseEndpoint: aws.String(os.Getenv("DYNAMODB_ENDPOINT")),
	Region:       "us-east-1",
	Credentials: aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
	})),
	// The SDK keeps 10 idle connections by default and opens any number of others.
	HTTPClient: awshttp.NewBuildableClient().WithTransportOptions(func(transport *http.Transport) {
		transport.MaxIdleConnsPerHost = connections
		transport.MaxConnsPerHost = connections
	}),
})

// Item is an item with its attributes by name.
type Item map[string]types.AttributeValue

// Text returns a string attribute, or nil.
func (item Item) Text(attribute string) *string {
	if value, ok := item[attribute].(*types.AttributeValueMemberS); ok {
		return &value.Value
	}
	return nil
}

// String returns a string attribute, or "".
func (item Item) String(attribute string) string {
	if value, ok := item[attribute].(*types.AttributeValueMemberS); ok {
		return value.Value
	}
	return ""
}

// Number returns the digits of a number, or "".
func (item Item) Number(attribute string) string {
	if value, ok := item[attribute].(*types.AttributeValueMemberN); ok {
		return value.Value
	}
	return ""
}

// Has returns true if the item has the attribute.
func (item Item) Has(attribute string) bool {
	_, ok := item[attribute]
	return ok
}

// Key is the primary key of an item.
type Key struct{ PK, SK string }

// Attributes returns the key as the attributes of an item.
func (key Key) Attributes() Item {
	return Item{"PK": Text(key.PK), "SK": Text(key.SK)}
}

// Text returns a string as an attribute.
func Text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

// Number returns digits as an attribute.
func Number(digits string) types.AttributeValue { return &types.AttributeValueMemberN{Value: digits} }

// GetItem returns an item, or nil.
func GetItem(ctx context.Context, key Key, consistent bool) (Item, error) {
	answer, err := client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &name, Key: key.Attributes(), ConsistentRead: &consistent,
	})
	if err != nil {
		return nil, err
	}
	return answer.Item, nil
}

// GetItems returns items in the order of up to 100 unique keys, nil for missing ones.
func GetItems(ctx context.Context, keys []Key) ([]Item, error) {
	if len(keys) == 1 {
		item, err := GetItem(ctx, keys[0], false)
		return []Item{item}, err
	}
	wanted := make([]map[string]types.AttributeValue, len(keys))
	for at, key := range keys {
		wanted[at] = key.Attributes()
	}
	found := make(map[Key]Item, len(keys))
	requests := map[string]types.KeysAndAttributes{name: {Keys: wanted}}
	for len(requests) > 0 {
		answer, err := client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: requests})
		if err != nil {
			return nil, err
		}
		for _, attributes := range answer.Responses[name] {
			item := Item(attributes)
			found[Key{item.String("PK"), item.String("SK")}] = item
		}
		requests = answer.UnprocessedKeys
	}
	items := make([]Item, len(keys))
	for at, key := range keys {
		items[at] = found[key]
	}
	return items, nil
}

// Range is a range of records in order, or a page of it.
type Range struct {
	Index, PK, Prefix string
	NewestFirst       bool
	Limit             int32
	Start             *Start
}

// Start is the position of the next page.
type Start struct{ key Item }

// Page is the items of a page, and the start of the next one, if any.
type Page struct {
	Items []map[string]types.AttributeValue
	Next  *Start
}

// Query returns a page.
func Query(ctx context.Context, within Range) (Page, error) {
	input := &dynamodb.QueryInput{
		TableName:                 &name,
		KeyConditionExpression:    aws.String("#pk = :pk AND begins_with(#sk, :sk)"),
		ExpressionAttributeNames:  map[string]string{"#pk": within.Index + "PK", "#sk": within.Index + "SK"},
		ExpressionAttributeValues: Item{":pk": Text(within.PK), ":sk": Text(within.Prefix)},
		ScanIndexForward:          aws.Bool(!within.NewestFirst),
		Limit:                     &within.Limit,
	}
	if within.Index != "" {
		input.IndexName = &within.Index
	}
	if within.Start != nil {
		input.ExclusiveStartKey = within.Start.key
	}
	answer, err := client.Query(ctx, input)
	if err != nil {
		return Page{}, err
	}
	page := Page{Items: answer.Items}
	if len(answer.LastEvaluatedKey) > 0 {
		page.Next = &Start{answer.LastEvaluatedKey}
	}
	return page, nil
}

// Transact carries out all writes, or none.
func Transact(ctx context.Context, token string, writes []types.TransactWriteItem) error {
	for at := range writes {
		switch write := writes[at]; {
		case write.Put != nil:
			write.Put.TableName = &name
		case write.Update != nil:
			write.Update.TableName = &name
		case write.ConditionCheck != nil:
			write.ConditionCheck.TableName = &name
		}
	}
	_, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: writes, ClientRequestToken: &token,
	})
	return err
}
