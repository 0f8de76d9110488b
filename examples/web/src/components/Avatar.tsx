import { hue } from '../hue'

/** The initials of a name. The avatars of the demo data are at example.org, where there are no pictures. */
export function Avatar({ name }: { name: string }) {
  const initials = name
    .split(' ')
    .map((word) => word[0])
    .join('')
  return (
    <span className="avatar" aria-hidden="true" style={{ backgroundColor: `oklch(45% 0.12 ${hue(name)})` }}>
      {initials.slice(0, 2).toUpperCase()}
    </span>
  )
}
