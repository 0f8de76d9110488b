import { Link } from 'wouter'
import { useQuery } from 'urql'
import { graphql } from '../gql'
import { useSession } from '../session'
import { UserLink } from './UserLink'

const ViewerQuery = graphql(`
  query Viewer {
    viewer {
      id
      ...UserLink
    }
  }
`)

const active = (isActive: boolean) => (isActive ? 'active' : '')

export function Header() {
  const { token, signOut } = useSession()
  const [{ data }] = useQuery({ query: ViewerQuery, pause: !token })

  return (
    <header>
      <nav aria-label="Main">
        <Link href="/" className="brand">
          <img src="/icon.svg" alt="" width="28" height="28" />
          <span>Heartwood</span>
        </Link>
        <Link href="/" className={active}>
          Feed
        </Link>
        <Link href="/family" className={active}>
          Family
        </Link>
        <span className="account">
          {token ? (
            <>
              {data?.viewer && <UserLink user={data.viewer} />}
              <button type="button" className="quiet" onClick={signOut}>
                Sign out
              </button>
            </>
          ) : (
            <Link href="/sign-in" className="button">
              Sign in
            </Link>
          )}
        </span>
      </nav>
    </header>
  )
}
