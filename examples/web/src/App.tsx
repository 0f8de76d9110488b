import { useEffect, useRef } from 'react'
import { Link, Route, Switch, useLocation } from 'wouter'
import { Header } from './components/Header'
import { DEMO_TREE, FamilyPage } from './pages/FamilyPage'
import { FeedPage } from './pages/FeedPage'
import { ProfilePage } from './pages/ProfilePage'
import { SignInPage } from './pages/SignInPage'
import { useSession } from './session'

export function App() {
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <Header />
      <Main />
    </>
  )
}

function Main() {
  const { notice } = useSession()
  const [path] = useLocation()
  const main = useRef<HTMLElement>(null)
  const shown = useRef(path)

  // A screen reader and the keyboard continue at the top of the new page, as after loading a document.
  useEffect(() => {
    if (shown.current === path) return
    shown.current = path
    main.current?.focus()
    window.scrollTo(0, 0)
  }, [path])

  return (
    <main id="main" ref={main} tabIndex={-1}>
      {notice && (
        <p className="notice" role="alert">
          You were signed out: {notice}
        </p>
      )}
      <Switch>
        <Route path="/" component={FeedPage} />
        <Route path="/sign-in" component={SignInPage} />
        <Route path="/people/:username">
          {({ username }) => <ProfilePage key={username} username={username} />}
        </Route>
        <Route path="/family/:treeId?">
          {({ treeId = DEMO_TREE }) => <FamilyPage key={treeId} treeId={treeId} />}
        </Route>
        <Route>
          <title>Not found · Heartwood</title>
          <h1>There is no such page</h1>
          <p>
            Go to the <Link href="/">feed</Link>.
          </p>
        </Route>
      </Switch>
    </main>
  )
}
