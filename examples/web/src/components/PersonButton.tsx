import { graphql, readFragment, type FragmentType } from '../gql'

const PersonButtonFragment = graphql(`
  fragment PersonButton on Person {
    id
    firstName
    lastName
    birthDate
    birthPlace
    deathDate
    biography
  }
`)

interface Props {
  person: FragmentType<typeof PersonButtonFragment>
  pressed: boolean
  onChoose: () => void
}

/** A person of a family tree. People who may be living have no dates, unless the viewer may see them. */
export function PersonButton({ person, pressed, onChoose }: Props) {
  const { firstName, lastName, birthDate, birthPlace, deathDate, biography } = readFragment(PersonButtonFragment, person)
  const life = [birthDate, deathDate].some(Boolean) && `${birthDate ?? '?'} – ${deathDate ?? ''}`
  return (
    <button type="button" className="person" aria-pressed={pressed} onClick={onChoose}>
      <strong>{[firstName, lastName].filter(Boolean).join(' ') || 'Unknown'}</strong>
      <span>{[life, birthPlace].filter(Boolean).join(' · ')}</span>
      {biography && <em>{biography}</em>}
    </button>
  )
}
