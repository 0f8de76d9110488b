import { useState } from 'react'
import { useMutation } from 'urql'
import { Redirect } from 'wouter'
import { Notice } from '../components/Notice'
import { graphql } from '../gql'
import { useSession } from '../session'

const LogIn = graphql(`
  mutation LogIn($login: String!, $password: String!) {
    logIn(input: { login: $login, password: $password }) {
      token
      problems {
        ...Problems
      }
    }
  }
`)

export function SignInPage() {
  const { token, signIn } = useSession()
  const [login, setLogin] = useState('maya')
  const [password, setPassword] = useState('heartwood demo')
  const [{ data, error, fetching }, logIn] = useMutation(LogIn)

  if (token) return <Redirect to="/" replace />

  const submit = async () => {
    const { data } = await logIn({ login, password })
    if (data?.logIn?.token) signIn(data.logIn.token)
  }

  return (
    <>
      <title>Sign in · Heartwood</title>
      <form className="card sign-in" action={submit}>
        <h1>Sign in</h1>
        <label>
          Username or email address
          <input
            autoComplete="username"
            autoCapitalize="none"
            required
            value={login}
            onChange={(event) => setLogin(event.target.value)}
          />
        </label>
        <label>
          Password
          <input
            type="password"
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        </label>
        <Notice error={error} problems={data?.logIn?.problems} />
        <button disabled={fetching}>{fetching ? 'Signing in …' : 'Sign in'}</button>
        <p className="hint">
          The form is filled in with a demo account. Try jonas, amira, teo, winnie, hana, oskar or priya too: all have the same
          password.
        </p>
      </form>
    </>
  )
}
