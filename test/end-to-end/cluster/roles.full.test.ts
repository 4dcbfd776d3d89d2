/** Two kinds of process: one only accepts callbacks (`dispatch: false`), one mounts nothing and only dispatches. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { shuffledCallbacks } from './callbacks.ts'
import { temporaryFolder } from './cluster.ts'
import { startInstance } from './instance.ts'
import { onEachEngine } from './on-each-engine.ts'
import { sendAll } from './service.ts'
import { judge, NOTHING_WRONG } from './verdict.ts'

const MESSAGES = 30

onEachEngine(
  ['sqlite', 'postgres', 'mysql', 'redis'],
  'one process accepts callbacks and another dispatches them',
  async ({ server, context: { expect, onTestFinished } }) => {
    const folder = temporaryFolder(onTestFinished)
    const common = { store: server.spec('roles'), spool: join(folder, 'spool') }
    const log = (name: string): string => join(folder, `${name}.log`)
    const web = await startInstance({ ...common, log: log('web'), dispatch: false }, onTestFinished)
    const before = shuffledCallbacks(MESSAGES, 'before')
    const first = await sendAll(before, { instances: () => [web] })
    // No process dispatches them yet.
    expect((await web.ask('report')).unsettled).toBe(first.answered.size)

    const worker = await startInstance({ ...common, log: log('worker'), takes: false }, onTestFinished)
    expect(worker.url).toBe('')
    const record = await sendAll(shuffledCallbacks(MESSAGES, 'after'), { instances: () => [web], record: first })
    expect(await worker.ask('drain')).toMatchObject({ drained: true, unsettled: 0, deadLetters: 0 })
    expect(judge([{ log: log('worker'), wasKilled: false }], record)).toMatchObject(NOTHING_WRONG)
    expect(readFileSync(log('web'), 'utf8')).toBe('')
    expect([...record.statuses.keys()]).toEqual([204])
    expect((await web.ask('report')).codes).toEqual([])
  },
)
