import type { ReactNode } from 'react'
import type { CombinedError } from 'urql'
import { graphql, readFragment, type FragmentType } from '../gql'

const ProblemsFragment = graphql(`
  fragment Problems on Problem {
    code
    message
    path
  }
`)

interface Props {
  /** What went wrong on the way: no connection, or errors with a code. */
  error?: CombinedError | undefined
  /** Why a mutation was refused. */
  problems?: ReadonlyArray<FragmentType<typeof ProblemsFragment>> | undefined
  id?: string
}

/** Shows errors and problems with their codes, or nothing. */
export function Notice({ error, problems = [], id }: Props) {
  const refusals = readFragment(ProblemsFragment, problems)
  if (!error && refusals.length === 0) return null
  return (
    <div className="notice" role="alert" id={id}>
      {error?.networkError && <p>The server does not answer. Check your connection and try again.</p>}
      {error?.graphQLErrors.map(({ message, extensions, path }) => (
        <Reason key={`${path?.join('.')} ${message}`} code={String(extensions.code ?? 'ERROR')}>
          {message}
        </Reason>
      ))}
      {refusals.map(({ code, message, path }) => (
        <Reason key={path.join('.') + message} code={code}>
          {message}
        </Reason>
      ))}
    </div>
  )
}

function Reason({ code, children }: { code: string; children: ReactNode }) {
  return (
    <p>
      <code>{code}</code> {children}
    </p>
  )
}

/** Shows that a page is loading, to screen readers too. */
export function Loading() {
  return (
    <p className="loading" role="status">
      Loading …
    </p>
  )
}
