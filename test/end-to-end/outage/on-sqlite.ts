/** A process on an SQLite file under load, with its spool outside the file's folder. */
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { startCluster, type CommonSettings } from '../cluster/cluster.ts'
import type { Instance } from '../cluster/instance.ts'
import { startLoad } from '../cluster/service.ts'
import { judge, NOTHING_WRONG } from '../cluster/verdict.ts'
import { ownFolder } from '../../support/own-folder.ts'

/** `folder`: the folder of the file. */
export async function onSqlite(
  settings: CommonSettings,
  folder = join(ownFolder(), 'data'),
  options: Parameters<typeof startLoad>[1] = {},
) {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, 'inbox.db')
  const spec = { engine: 'sqlite', url: path, name: 'inbox', busyTimeoutMs: 300 } as const
  const cluster = await startCluster(1, [spec], settings, onTestFinished)
  const load = startLoad(() => cluster.instances, options)

  /** The process that runs now. */
  function instance(): Instance {
    return cluster.instances[0] ?? expect.unreachable()
  }

  async function moreAnswers(count: number): Promise<void> {
    const before = load.record.answered.size
    await expect.poll(() => load.record.answered.size, { timeout: 60_000 }).toBeGreaterThan(before + count)
  }

  /** Every event answered 204 has been handled, once and in order. */
  async function expectAllHandled(): Promise<void> {
    expect(await instance().ask('drain')).toMatchObject({ drained: true, unsettled: 0, deadLetters: 0 })
    const verdict = judge(cluster.lives, load.record)
    console.log(verdict.summary)
    expect(verdict).toMatchObject(NOTHING_WRONG)
  }

  return { folder, path, spool: cluster.spoolOf(0), cluster, load, instance, moreAnswers, expectAllHandled }
}

/** Whether a spool folder contains a file with records. */
export function holdsAnything(spool: string): boolean {
  return existsSync(spool) && readdirSync(spool, { recursive: true }).some((name) => String(name).endsWith('.segment'))
}
