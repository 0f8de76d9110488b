/** Documents with a deferred fragment and a streamed list. */
import { graphql } from "relay-runtime";

export const query = graphql`
  query incrementalQuery {
    feed(first: 4) {
      nodes @stream(initialCount: 1, label: "nodes") {
        id
        caption
        ...incrementalAuthor_post @defer(label: "author")
      }
    }
  }
`;

export const author = graphql`
  fragment incrementalAuthor_post on Post {
    author {
      id
      username
    }
  }
`;
