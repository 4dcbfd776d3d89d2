/** A process on an SQLite file under load, with its spool outside the file's folder. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { CommonSettings } from '../cluster/cluster.ts'
import type { Instance } from '../cluster/instance.ts'
import { startUnderLoad } from '../cluster/under-load.ts'
import { ownFolder } from '../../support/own-folder.ts'

/** `folder`: the folder of the file. */
export async function onSqlite(
  settings: CommonSettings,
  folder = join(ownFolder(), 'data'),
  options: Parameters<typeof startUnderLoad>[4] = {},
) {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, 'inbox.db')
  const spec = { engine: 'sqlite', url: path, name: 'inbox', busyTimeoutMs: 300 } as const
  const running = await startUnderLoad(1, [spec], settings, { expect, onTestFinished }, options)
  const { cluster } = running
  /** The process that runs now. */
  const instance = (): Instance => cluster.instances[0] ?? expect.unreachable()
  return { ...running, folder, path, spool: cluster.spoolOf(0), instance }
}
