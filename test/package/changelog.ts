/** Reads the changelog. */

/** What stands under the heading of a version. Throws where there is nothing: a version that says nothing is not released. */
export function partOf(changelog: string, version: string): string {
  const parts = changelog.split(/^## /m).slice(1)
  const part = parts.find((one) => one.startsWith(`[${version}]`))
  const text = part?.slice(part.indexOf('\n')).trim() ?? ''
  if (text === '') throw new Error(`CHANGELOG.md says nothing of ${version}.`)
  return text
}
