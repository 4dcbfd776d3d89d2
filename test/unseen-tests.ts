/** Prints one line for each file and reason with the tests that did not run or did not end, so that an incomplete run is visible. */
import { relative } from 'node:path'
import type { Reporter, TestCase, TestModule } from 'vitest/node'

/** The reason is in brackets at the end of the title of the test or of an enclosing suite. */
function reasonOf(test: TestCase): string {
  const titles = test.fullName.split(' > ').toReversed()
  const reasons = titles.map((title) => /\((.*)\)$/s.exec(title)?.[1])
  return reasons.find((reason) => reason !== undefined) ?? 'no reason given'
}

/** The name of the file, how many, and why. */
function linesOf(module: TestModule, root: string): readonly string[] {
  const counts = new Map<string, number>()
  for (const test of module.children.allTests('skipped')) {
    const reason = reasonOf(test)
    counts.set(reason, (counts.get(reason) ?? 0) + 1)
  }
  const file = relative(root, module.moduleId)
  const skipped = [...counts].map(([reason, count]) => `skipped: ${count} of ${file}: ${reason}`)
  return [...skipped, ...unended(module).map((name) => `did not end: ${file}${name}`)]
}

/** What a process that died was running: the file, and which of its tests where it had got so far. */
function unended(module: TestModule): readonly string[] {
  if (!['pending', 'queued'].includes(module.state())) return []
  const running = [...module.children.allTests('pending')].map(({ fullName }) => ` > ${fullName}`)
  return running.length === 0 ? [''] : running
}

export const unseenTests: Reporter = {
  onTestRunEnd(modules) {
    // Selecting tests by name skips the others on purpose.
    const chosen = modules.filter(({ project }) => project.config.testNamePattern === undefined)
    for (const module of chosen) for (const line of linesOf(module, module.project.config.root)) console.log(line)
  },
}
