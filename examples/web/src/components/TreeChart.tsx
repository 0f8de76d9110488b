import { useEffect, useState } from 'react'
import { useSession } from '../session'
import { Loading } from './Notice'

const LINES = ['ancestors', 'descendants'] as const

/** The chart that the server draws of a tree. */
export function TreeChart({ treeId, personId }: { treeId: string; personId: string | null }) {
  const [line, setLine] = useState<(typeof LINES)[number]>('ancestors')
  const query = new URLSearchParams({ line, ...(personId && { person: personId }) })
  const { image, problem } = useImage(`/trees/${encodeURIComponent(treeId)}.svg?${query}`)

  return (
    <figure className="card chart">
      <figcaption role="group" aria-label="Line of the chart">
        {LINES.map((each) => (
          <button key={each} type="button" aria-pressed={each === line} onClick={() => setLine(each)}>
            {each[0]?.toUpperCase() + each.slice(1)}
          </button>
        ))}
      </figcaption>
      {problem ? (
        <p className="notice" role="alert">
          {problem}
        </p>
      ) : image ? (
        // On a phone, the chart is wider than the screen. With a tabIndex, the keyboard can scroll it too.
        <div className="scroll" role="region" aria-label="Chart" tabIndex={0}>
          <img src={image} alt={`Family tree: ${line}`} />
        </div>
      ) : (
        <Loading />
      )}
    </figure>
  )
}

/** Loads an image with the viewer's token, which the browser would not send for an `<img>`: private trees need it. */
function useImage(url: string): { image?: string; problem?: string } {
  const { token } = useSession()
  const [state, setState] = useState<{ image?: string; problem?: string }>({})

  useEffect(() => {
    const controller = new AbortController()
    let image: string | undefined
    const load = async () => {
      const headers: HeadersInit = token ? { authorization: `Bearer ${token}` } : {}
      const response = await fetch(url, { headers, signal: controller.signal })
      if (!response.ok) return setState({ problem: await response.text() })
      image = URL.createObjectURL(await response.blob())
      setState({ image })
    }
    load().catch((error: unknown) => {
      if (!controller.signal.aborted) setState({ problem: String(error) })
    })
    return () => {
      controller.abort()
      if (image) URL.revokeObjectURL(image)
    }
  }, [url, token])

  return state
}
