const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

export function Time({ at }: { at: string }) {
  return <time dateTime={at}>{format.format(new Date(at))}</time>
}
