/** The findings of `npm audit` for the packages that users install. */
import { z } from 'zod'
import { runProgram } from '../support/program.ts'

const advisory = z.object({ source: z.number(), title: z.string(), name: z.string(), url: z.string().optional() })
const report = z.object({
  vulnerabilities: z.record(z.string(), z.object({ via: z.array(z.union([z.string(), advisory])) })),
})

interface Vulnerability {
  /** The last part of the advisory's address, else its number. */
  readonly id: string
  readonly title: string
  readonly of: string
}

/** Throws when the registry cannot be reached: an unchecked dependency is not known to be safe. */
export async function readKnown(): Promise<readonly Vulnerability[]> {
  // It exits with 1 if it finds any.
  const { stdout, stderr } = await runProgram('npm', ['audit', '--json', '--omit', 'dev'])
  return vulnerabilitiesIn(stdout, stderr)
}

export function vulnerabilitiesIn(audit: string, complaint = ''): readonly Vulnerability[] {
  const read = report.safeParse(JSON.parse(audit))
  if (!read.success) throw new Error(`npm audit gave no report; nothing is known of vulnerabilities. ${complaint}`)
  const found = Object.values(read.data.vulnerabilities).flatMap(({ via }) => via)
  // A package that only depends on the vulnerable one names it.
  const advisories = found.filter((one) => typeof one !== 'string')
  const byId = advisories.map(({ source, title, name, url }): [string, Vulnerability] => {
    const id = url?.split('/').at(-1) ?? String(source)
    return [id, { id, title, of: name }]
  })
  return [...new Map(byId).values()]
}

export function unexplained(
  known: readonly Vulnerability[],
  explained: Readonly<Record<string, string>>,
): readonly Vulnerability[] {
  return known.filter(({ id }) => !Object.hasOwn(explained, id))
}
