import { useRef, useState } from 'react'
import { useQuery } from 'urql'
import { LoadMore } from '../components/LoadMore'
import { Loading, Notice } from '../components/Notice'
import { PersonButton } from '../components/PersonButton'
import { TreeChart } from '../components/TreeChart'
import { UserLink } from '../components/UserLink'
import { graphql } from '../gql'

/** The family tree of the demo data. It is public. */
export const DEMO_TREE = '01HEARTW00DTREE00000000001'

const FamilyQuery = graphql(`
  query Family($treeId: String!, $after: String) {
    tree(by: { databaseId: $treeId }) {
      id
      databaseId
      name
      description
      personCount
      owner {
        id
        ...UserLink
      }
      rootPerson {
        id
        databaseId
      }
      persons(first: 8, after: $after) {
        nodes {
          id
          databaseId
          ...PersonButton
        }
        pageInfo {
          ...LoadMore
        }
      }
    }
  }
`)

export function FamilyPage({ treeId }: { treeId: string }) {
  const [after, setAfter] = useState<string | null>(null)
  const [chosen, setChosen] = useState<string | null>(null)
  const chart = useRef<HTMLDivElement>(null)
  const [{ data, error, fetching }] = useQuery({ query: FamilyQuery, variables: { treeId, after } })
  const tree = data?.tree

  const choose = (personId: string) => {
    setChosen(personId)
    chart.current?.scrollIntoView()
  }

  if (!tree) {
    return (
      <>
        <title>Family tree · Heartwood</title>
        <h1>Family tree</h1>
        {fetching ? <Loading /> : error ? <Notice error={error} /> : <p>There is no such tree, or it is private.</p>}
      </>
    )
  }

  const personId = chosen ?? tree.rootPerson?.databaseId ?? null
  return (
    <>
      <title>{`${tree.name} · Heartwood`}</title>
      <h1>{tree.name}</h1>
      <p>{tree.description}</p>
      <p className="hint">
        {tree.personCount} people, collected by <UserLink user={tree.owner} />
      </p>
      <div ref={chart}>
        <TreeChart treeId={tree.databaseId} personId={personId} />
      </div>
      <h2>People</h2>
      <ul className="people">
        {tree.persons?.nodes.map((person) => (
          <li key={person.id}>
            <PersonButton
              person={person}
              pressed={person.databaseId === personId}
              onChoose={() => choose(person.databaseId)}
            />
          </li>
        ))}
      </ul>
      <Notice error={error} />
      {tree.persons && <LoadMore pageInfo={tree.persons.pageInfo} fetching={fetching} onMore={setAfter} />}
    </>
  )
}
