/** `npm run audit`: fails on a known vulnerability of what users install, unless it is explained here. */
import { readKnown, unexplained } from './vulnerabilities.ts'

/** By the number of its advisory: why it does not concern whoever uses this package. Take a line out with its cause. */
const EXPLAINED: Readonly<Record<string, string>> = {}

const known = await readKnown()
for (const { id, title, of } of unexplained(known, EXPLAINED)) {
  console.error(`${id} ${of}: ${title}`)
  process.exitCode = 1
}
