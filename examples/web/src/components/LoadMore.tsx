import { graphql, readFragment, type FragmentType } from '../gql'

const LoadMoreFragment = graphql(`
  fragment LoadMore on PageInfo {
    hasNextPage
    endCursor
  }
`)

interface Props {
  pageInfo: FragmentType<typeof LoadMoreFragment>
  fetching: boolean
  /** Loads the page after this cursor. */
  onMore: (after: string | null) => void
}

export function LoadMore({ pageInfo, fetching, onMore }: Props) {
  const { hasNextPage, endCursor } = readFragment(LoadMoreFragment, pageInfo)
  if (!hasNextPage) return null
  return (
    <button type="button" className="more" disabled={fetching} onClick={() => onMore(endCursor)}>
      {fetching ? 'Loading …' : 'Load more'}
    </button>
  )
}
