/** Documents for relay-compiler: fragments that paginate and refetch, as in an application with hooks. */
import { graphql } from "relay-runtime";

export const feed = graphql`
  query documentsFeedQuery($count: Int!, $cursor: String) {
    ...documentsFeed_query @arguments(count: $count, cursor: $cursor)
  }
`;

export const feedFragment = graphql`
  fragment documentsFeed_query on Query
  @refetchable(queryName: "documentsFeedPaginationQuery")
  @argumentDefinitions(count: { type: "Int!" }, cursor: { type: "String" }) {
    feed(first: $count, after: $cursor) @connection(key: "documentsFeed_feed") {
      edges {
        node {
          id
          ...documentsPost_post
        }
      }
    }
  }
`;

export const post = graphql`
  fragment documentsPost_post on Post
  @refetchable(queryName: "documentsPostRefetchQuery")
  @throwOnFieldError
  @argumentDefinitions(count: { type: "Int", defaultValue: 2 }, cursor: { type: "String" }) {
    caption
    likeCount
    viewerHasLiked
    comments(first: $count, after: $cursor) @connection(key: "documentsPost_comments") {
      edges {
        node {
          id
          content
        }
      }
    }
  }
`;

export const person = graphql`
  fragment documentsPerson_person on Person @refetchable(queryName: "documentsPersonRefetchQuery") {
    firstName
    parents(first: 10) {
      edges {
        kind
        node {
          id
          firstName
        }
      }
    }
  }
`;

export const members = graphql`
  fragment documentsMembers_neighborhood on Neighborhood
  @refetchable(queryName: "documentsMembersPaginationQuery")
  @argumentDefinitions(count: { type: "Int", defaultValue: 2 }, cursor: { type: "String" }) {
    members(first: $count, after: $cursor) @connection(key: "documentsMembers_members") {
      edges {
        node {
          role
          user {
            username
          }
        }
      }
    }
  }
`;

export const cards = graphql`
  fragment documentsCards_category on Category
  @refetchable(queryName: "documentsCardsPaginationQuery")
  @argumentDefinitions(count: { type: "Int", defaultValue: 2 }, cursor: { type: "String" }) {
    cards(first: $count, after: $cursor) @connection(key: "documentsCards_cards") {
      edges {
        node {
          title
          voteScore
        }
      }
    }
  }
`;

export const versions = graphql`
  fragment documentsVersions_content on Content
  @refetchable(queryName: "documentsVersionsPaginationQuery")
  @argumentDefinitions(count: { type: "Int", defaultValue: 2 }, cursor: { type: "String" }) {
    versions(first: $count, after: $cursor) @connection(key: "documentsVersions_versions") {
      edges {
        node {
          version
          title
        }
      }
    }
  }
`;

export const like = graphql`
  mutation documentsLikeMutation($input: LikePostInput!) {
    likePost(input: $input) {
      post {
        likeCount
        viewerHasLiked
      }
      problems {
        code
      }
    }
  }
`;

export const live = graphql`
  query documentsLiveQuery($id: ID!) @live(throttle: 50) {
    post(by: { id: $id }) {
      caption
    }
  }
`;

export const comments = graphql`
  subscription documentsCommentsSubscription($postId: ID!, $after: String) {
    commentAdded(postId: $postId, after: $after) {
      cursor
      node {
        content
      }
    }
  }
`;
