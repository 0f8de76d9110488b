package graph

import (
	"context"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

type requestKey struct{}

var (
	secret = []byte(os.Getenv("AUTH_SECRET"))
	parser = jwt.NewParser(
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(), jwt.WithLeeway(30*time.Second),
	)
)

// WithRequest adds the viewer from the bearer token and its loaders to the context of a request.
func WithRequest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		viewerID, err := viewerOf(request.Header.Get("Authorization"))
		if err != nil {
			http.Error(writer, `{"errors":[{"message":"the token is not valid"}]}`, http.StatusUnauthorized)
			return
		}
		ctx := context.WithValue(request.Context(), requestKey{}, newLoaders(viewerID))
		next.ServeHTTP(writer, request.WithContext(ctx))
	})
}

func loadersOf(ctx context.Context) *Loaders { return ctx.Value(requestKey{}).(*Loaders) }

// viewerOf returns "" for an anonymous request.
func viewerOf(authorization string) (string, error) {
	if authorization == "" {
		return "", nil
	}
	_, token, _ := strings.Cut(authorization, " ")
	var claims jwt.RegisteredClaims
	if _, err := parser.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return secret, nil }); err != nil {
		return "", err
	}
	if claims.Subject == "" {
		return "", jwt.ErrTokenInvalidSubject
	}
	return claims.Subject, nil
}
