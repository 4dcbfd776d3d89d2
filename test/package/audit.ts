/** `npm run audit`: fails on a known vulnerability in the packages that users install, unless it is explained here. */
import { readKnown, unexplained } from './vulnerabilities.ts'

/** By advisory: why it does not affect users of this package. Remove an entry together with its cause. */
const EXPLAINED: Readonly<Record<string, string>> = {}

const known = await readKnown()
for (const { id, title, of } of unexplained(known, EXPLAINED)) {
  console.error(`${id} ${of}: ${title}`)
  process.exitCode = 1
}
