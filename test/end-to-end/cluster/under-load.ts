/** Processes on one store under load, each with a spool, and what every such test expects of them. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'vitest'
import type { StoreSpec } from '../../support/servers/store-spec.ts'
import { startCluster, type CommonSettings } from './cluster.ts'
import { startLoad } from './service.ts'
import { judge, NOTHING_WRONG } from './verdict.ts'

const POLL = { timeout: 60_000, interval: 20 }
const ENOUGH = 100

export async function startUnderLoad(
  size: number,
  stores: readonly StoreSpec[],
  settings: CommonSettings,
  { expect, onTestFinished }: Pick<TestContext, 'expect' | 'onTestFinished'>,
  options: Parameters<typeof startLoad>[1] = {},
) {
  const cluster = await startCluster(size, stores, settings, onTestFinished)
  const load = startLoad(() => cluster.instances, options)
  const { answered, statuses } = load.record

  async function moreAnswers(count = ENOUGH): Promise<void> {
    const before = answered.size
    await expect.poll(() => answered.size - before, POLL).toBeGreaterThan(count)
  }

  /** Waits until the store has everything, although callbacks continue to arrive. */
  async function untilSpoolsAreEmpty(timeout = POLL.timeout): Promise<void> {
    const spools = cluster.instances.map((_, place) => cluster.spoolOf(place))
    await expect.poll(() => spools.filter(holdsAnything), { ...POLL, timeout }).toEqual([])
  }

  /** Every event answered 204 has been handled, once and in order. Returns the summary. */
  async function expectAllHandled(wrong: Partial<typeof NOTHING_WRONG> = NOTHING_WRONG): Promise<string> {
    for (const instance of cluster.instances)
      expect(await instance.ask('drain')).toMatchObject({ drained: true, unsettled: 0, deadLetters: 0 })
    const verdict = judge(cluster.lives, load.record)
    console.log(verdict.summary)
    expect(verdict).toMatchObject(wrong)
    return verdict.summary
  }

  /** Every callback was answered 204. A failure shows what the instances reported. */
  async function expectOnly204(): Promise<void> {
    const reports = await Promise.all(cluster.instances.map((instance) => instance.ask('report')))
    const codes = reports.map((report) => report.codes?.join(' ')).join('\n')
    expect([...statuses.keys()], codes).toEqual([204])
  }

  return { cluster, load, answered, moreAnswers, untilSpoolsAreEmpty, expectAllHandled, expectOnly204 }
}

/** Whether events wait in a spool. */
export function holdsAnything(spool: string): boolean {
  const path = join(spool, 'local.db')
  if (!existsSync(path)) return false
  const db = new DatabaseSync(path)
  try {
    db.exec('PRAGMA busy_timeout = 5000')
    return db.prepare('SELECT 1 FROM spool LIMIT 1').get() !== undefined
  } finally {
    db.close()
  }
}
