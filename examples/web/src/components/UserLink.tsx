import { Link } from 'wouter'
import { graphql, readFragment, type FragmentType } from '../gql'
import { Avatar } from './Avatar'

const UserLinkFragment = graphql(`
  fragment UserLink on User {
    id
    username
    displayName
  }
`)

/** The author of something; null if the account was deleted. */
export function UserLink(props: { user: FragmentType<typeof UserLinkFragment> | null }) {
  const user = readFragment(UserLinkFragment, props.user)
  if (!user) return <span className="user">Deleted account</span>
  const name = user.displayName ?? user.username
  return (
    <Link href={`/people/${encodeURIComponent(user.username)}`} className="user">
      <Avatar name={name} />
      <span>{name}</span>
    </Link>
  )
}
