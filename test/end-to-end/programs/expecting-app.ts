/**
 * An app that expects messages of which nothing is reported, and is killed at one step: of writing down what was sent, of finding
 * what is overdue, of making its event, of handing it over, of settling it.
 */
import { openSync, writeSync } from 'node:fs'
import { createReceiver, type Store } from '../../../src/index.ts'
import { storeOf, type StoreSpec } from '../../support/servers/store-spec.ts'

/** What the test that starts it wrote. */
interface Plan {
  readonly spec: StoreSpec
  readonly log: string
  readonly messages: number
  /** Where to end; none to go on to the end of all. */
  readonly point?: string
}

const { spec, log: path, messages, point } = JSON.parse(process.argv[2] ?? '') as Plan
const log = openSync(path, 'a')

function pass(here: string): void {
  if (here !== point) return
  writeSync(log, `killed ${here}\n`)
  process.kill(process.pid, 'SIGKILL')
}

function watched(inner: Store): Store {
  return {
    ...inner,
    async open(host) {
      const store = await inner.open(host)
      const { expect, overdue, admitOverdue } = store
      if (expect === undefined || overdue === undefined || admitOverdue === undefined) throw new Error('It has them.')
      return {
        ...store,
        async expect(sent, nowMs) {
          pass('before-expect')
          const answer = await expect(sent, nowMs)
          pass('after-expect')
          return answer
        },
        async overdue(page) {
          const found = await overdue(page)
          if (found.items.length > 0) pass('after-overdue')
          return found
        },
        async admitOverdue(events, nowMs) {
          const admitted = admitOverdue(events, nowMs)
          pass('in-admission')
          const answer = await admitted
          if (answer.includes(true)) pass('after-admission')
          return answer
        },
        async settle(settlements, nowMs, lazily) {
          pass('before-settlement')
          const answer = await store.settle(settlements, nowMs, lazily)
          pass('after-settlement')
          return answer
        },
      }
    },
  }
}

const store = await storeOf(spec, watched)
const receiver = createReceiver({
  credentials: { authKey: 'a', signingSecret: 's' },
  store,
  concurrency: 1,
  logger: false,
})
receiver.on('message.overdue', ({ id, messageId }) => {
  writeSync(log, `overdue ${messageId} ${id}\n`)
  pass('in-handler')
})
await receiver.start()
const names = Array.from({ length: messages }, (_, at) => ({ messageId: `m${at}` }))
await receiver.expect({ messages: names }, { within: 1 })
writeSync(log, 'expected\n')
for (let isOver = false; !isOver;) {
  await new Promise((soon) => setTimeout(soon, 50))
  const { items, next } = await receiver.outstanding({ limit: 1_000 })
  isOver = next === undefined && items.length === messages && items.every(({ wasOverdue }) => wasOverdue)
}
await receiver.drain({ deadlineMs: 60_000 })
writeSync(log, 'over\n')
await receiver.close()
process.exit(0)
