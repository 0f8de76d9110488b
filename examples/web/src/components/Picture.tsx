import { hue } from '../hue'

const RINGS = [96, 84, 77, 66, 60, 49, 41, 30, 24, 13, 7]

/** The picture of a post. The demo data has pictures at example.org, where there are none: it gets tree rings instead. */
export function Picture({ url }: { url: string }) {
  if (new URL(url).hostname !== 'example.org') return <img className="picture" src={url} alt="" loading="lazy" />
  const color = hue(url)
  const [x, y] = [20 + (color % 60), 20 + (color % 25)]
  return (
    <svg className="picture" viewBox="0 0 100 60" preserveAspectRatio="xMidYMid slice" aria-hidden="true">
      <rect width="100" height="60" fill={`hsl(${color} 35% 80%)`} />
      {RINGS.map((radius, place) => (
        <circle
          key={radius}
          cx={x - place * 0.7}
          cy={y + place * 0.4}
          r={radius}
          fill={`hsl(${color + place * 3} 40% ${80 - place * 4}%)`}
          stroke={`hsl(${color} 45% 35% / 40%)`}
          strokeWidth={place % 3 ? 0.5 : 1.1}
        />
      ))}
    </svg>
  )
}
