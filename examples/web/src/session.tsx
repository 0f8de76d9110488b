import { createContext, use, useMemo, useState, type ReactNode } from 'react'
import { Provider } from 'urql'
import { createClient } from './client'

// sessionStorage survives a reload, belongs to one tab and is deleted with it. Like any storage, and like memory, it is
// readable by every script of the page: load no scripts that you do not trust. (An HttpOnly cookie would need a server
// of your own between the browser and Heartwood.)
const KEY = 'heartwood-token'

interface Session {
  token: string | null
  /** Why the session ended, if it was not the user who ended it. */
  notice: string | null
  signIn: (token: string) => void
  signOut: () => void
}

const SessionContext = createContext<Session | null>(null)

export function useSession(): Session {
  const session = use(SessionContext)
  if (!session) throw new Error('useSession needs a <SessionProvider> around the component')
  return session
}

/** Provides the session, and a GraphQL client that sends its token. */
export function SessionProvider({ children }: { children: ReactNode }) {
  const [{ token, notice }, setState] = useState({ token: sessionStorage.getItem(KEY), notice: null as string | null })

  const session = useMemo<Session>(() => {
    const signIn = (token: string) => {
      sessionStorage.setItem(KEY, token)
      setState({ token, notice: null })
    }
    // A token is valid until it expires; to end all tokens of the account, use the mutation `signOutEverywhere`.
    const signOut = () => {
      sessionStorage.removeItem(KEY)
      setState({ token: null, notice: null })
    }
    return { token, notice, signIn, signOut }
  }, [token, notice])

  // A new client for each session: its cache must not show what another user was allowed to see.
  const client = useMemo(() => {
    const onTokenRefused = (message: string) => {
      sessionStorage.removeItem(KEY)
      setState({ token: null, notice: message })
    }
    return createClient(token, onTokenRefused)
  }, [token])

  return (
    <SessionContext value={session}>
      <Provider value={client}>{children}</Provider>
    </SessionContext>
  )
}
