package graph

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vikstrous/dataloadgen"

	"peer/records"
	"peer/table"
)

const (
	batch      = 100
	refill     = 100
	readsAPage = 10
	wait       = time.Millisecond
)

// Loaders of one request: batched, and nothing is read twice.
type Loaders struct {
	viewerID string
	users    *dataloadgen.Loader[string, *records.User]
	posts    *dataloadgen.Loader[string, *records.Post]
	likes    *dataloadgen.Loader[string, bool]
	counters *dataloadgen.Loader[table.Key, table.Item]
	ranges   *dataloadgen.Loader[table.Range, table.Page]
}

func newLoaders(viewerID string) *Loaders {
	return &Loaders{
		viewerID: viewerID,
		users: byKey(
			func(id string) table.Key { return table.Key{PK: "USER#" + id, SK: "PROFILE"} },
			func(item table.Item) *records.User { return records.UserOf(item, viewerID) },
		),
		posts: byKey(postKey, records.PostOf),
		likes: byKey(
			func(postID string) table.Key { return table.Key{PK: "POST#" + postID, SK: "LIKE#" + viewerID} },
			func(item table.Item) bool { return item != nil },
		),
		counters: byKey(
			func(key table.Key) table.Key { return key },
			func(item table.Item) table.Item { return item },
		),
		ranges: dataloadgen.NewLoader(queryAll, dataloadgen.WithWait(wait)),
	}
}

func postKey(id string) table.Key { return table.Key{PK: "POST#" + id, SK: "METADATA"} }

func byKey[K comparable, V any](key func(K) table.Key, decode func(table.Item) V) *dataloadgen.Loader[K, V] {
	read := func(ctx context.Context, ids []K) ([]V, []error) {
		keys := make([]table.Key, len(ids))
		for at, id := range ids {
			keys[at] = key(id)
		}
		items, err := table.GetItems(ctx, keys)
		if err != nil {
			return nil, []error{err}
		}
		values := make([]V, len(ids))
		for at, item := range items {
			values[at] = decode(item)
		}
		return values, nil
	}
	return dataloadgen.NewLoader(read, dataloadgen.WithWait(wait), dataloadgen.WithBatchCapacity(batch))
}

// queryAll resolves queries of one batch together, so that the loads they lead to are one batch again.
func queryAll(ctx context.Context, ranges []table.Range) ([]table.Page, []error) {
	pages, errs := make([]table.Page, len(ranges)), make([]error, len(ranges))
	var group sync.WaitGroup
	for at, within := range ranges {
		group.Go(func() { pages[at], errs[at] = table.Query(ctx, within) })
	}
	group.Wait()
	return pages, errs
}

// page returns the first visible records. It reads one extra record, so hasNextPage is exact.
func page[V any](
	ctx context.Context, load *Loaders, within table.Range, size int, see func([]table.Item) ([]*V, error),
) ([]*V, *records.PageInfo, error) {
	nodes := make([]*V, 0, size+1)
	within.Limit = int32(size) + 1
	for range readsAPage {
		found, err := load.ranges.Load(ctx, within)
		if err != nil {
			return nil, nil, err
		}
		items := make([]table.Item, len(found.Items))
		for at, item := range found.Items {
			items[at] = item
		}
		seen, err := see(items)
		if err != nil {
			return nil, nil, err
		}
		for _, node := range seen {
			if node != nil {
				nodes = append(nodes, node)
			}
		}
		within.Start, within.Limit = found.Next, refill
		if len(nodes) > size || found.Next == nil {
			break
		}
	}
	more := len(nodes) > size || within.Start != nil
	return nodes[:min(size, len(nodes))], &records.PageInfo{HasNextPage: more}, nil
}

// all decodes the items of a page one by one.
func all[V any](decode func(table.Item) *V) func([]table.Item) ([]*V, error) {
	return func(items []table.Item) ([]*V, error) {
		values := make([]*V, len(items))
		for at, item := range items {
			values[at] = decode(item)
		}
		return values, nil
	}
}

// total adds the shards of a counter to its base.
func (load *Loaders) total(ctx context.Context, post *records.Post, attribute string, base int) (int, error) {
	if post.CounterShards == 0 {
		return base, nil
	}
	keys := make([]table.Key, post.CounterShards)
	for shard := range keys {
		keys[shard] = table.Key{PK: "POST#" + post.PostID, SK: fmt.Sprintf("COUNTER#%d", shard)}
	}
	shares, err := load.counters.LoadAll(ctx, keys)
	for _, share := range shares {
		base += records.Count(share, attribute)
	}
	return base, err
}
