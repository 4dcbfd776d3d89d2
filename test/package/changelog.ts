/** Reads the changelog. */

/** The section of a version. Throws if it is empty: a version without notes is not released. */
export function partOf(changelog: string, version: string): string {
  const parts = changelog.split(/^## /m).slice(1)
  const part = parts.find((one) => one.startsWith(`[${version}]`))
  const text = part?.slice(part.indexOf('\n')).trim() ?? ''
  if (text === '') throw new Error(`CHANGELOG.md says nothing of ${version}.`)
  return text
}
