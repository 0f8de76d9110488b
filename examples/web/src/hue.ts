/** Returns a hue of 0–359 degrees that is always the same for the same text. */
export function hue(text: string): number {
  let sum = 0
  for (const character of text) sum = (sum * 31 + character.codePointAt(0)!) % 360
  return sum
}
