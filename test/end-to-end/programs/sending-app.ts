/**
 * An app that sends with its receiver as witness, receives the reports, resends temporary failures, and is killed at one step:
 * recording the pending send, the request, the answer, recording the answer, ending the send, finding overdue messages,
 * making the overdue event, running a handler, or settling the event. The last process ends by itself and prints what is stored.
 */
import { openSync, writeSync } from 'node:fs'
import http from 'node:http'
import { createClient } from '../../../src/client/index.ts'
import { createReceiver, type Store } from '../../../src/index.ts'
import type { StoredExpectation } from '../../../src/messages/views.ts'
import type { Command, MessageStore } from '../../../src/store.ts'
import { storeAround } from '../../support/store-around.ts'
import { storeOf, type StoreSpec } from '../../support/servers/store-spec.ts'

/** Written by the test that starts this program. */
interface Plan {
  readonly spec: StoreSpec
  readonly log: string
  readonly baseUrl: string
  readonly project: string
  readonly apiKey: string
  readonly keys: { readonly authKey: string; readonly signingSecret: string }
  /** The port that reports are posted to. */
  readonly port: number
  /** Each send with its number. */
  readonly sends: readonly (readonly [reference: string, to: string])[]
  /** The step to end at, and which occurrence of it; undefined to run to the end. */
  readonly point?: string
  readonly nth?: number
}

const plan = JSON.parse(process.argv[2] ?? '') as Plan
const { spec, baseUrl, project, apiKey, keys, port, sends, point, nth = 1 } = plan
const ANSWER_WITHIN_MS = 4_000
const OVERDUE_AFTER_MS = 4_000
const AT_ONCE = 3

const log = openSync(plan.log, 'a')
let passed = 0
let opened: MessageStore | undefined

function pass(here: string): void {
  if (here !== point || (passed += 1) < nth) return
  writeSync(log, `killed ${here}\n`)
  process.kill(process.pid, 'SIGKILL')
}

function stepOf(command: Command | undefined): string | undefined {
  if (command?.do !== 'expect') return undefined
  const { recipients, resendOf } = command.send.expectation
  const what = recipients === undefined ? 'answer' : 'intention'
  return resendOf === undefined ? what : `${what}-of-repetition`
}

function watched(inner: Store): Store {
  return storeAround(
    inner,
    {
      async run(commands, go) {
        const [first] = commands
        const step = stepOf(first)
        if (step !== undefined) pass(`before-${step}`)
        if (first?.do === 'settle') pass('before-settlement')
        const answering = go()
        if (first?.do === 'overdue') pass('in-admission')
        const answers = await answering
        if (step !== undefined) pass(`after-${step}`)
        if (first?.do === 'endSend') pass('after-end')
        if (first?.do === 'overdue' && answers.includes(true)) pass('after-admission')
        if (first?.do === 'settle') pass('after-settlement')
        return answers
      },
      async due({ of }, go) {
        const found = await go()
        if (of === 'sends' && found.keys.length > 0) pass('after-overdue')
        return found
      },
    },
    (store) => {
      opened = store
      return {}
    },
  )
}

const receiver = createReceiver({
  credentials: keys,
  store: await storeOf(spec, watched),
  logger: false,
})
receiver.on('send.unknown', ({ id, reference }) => {
  writeSync(log, `unknown ${reference} ${id}\n`)
  pass('in-unknown')
})
receiver.on('send.overdue', ({ id, messageId }) => {
  writeSync(log, `overdue ${messageId} ${id}\n`)
  pass('in-overdue')
})
receiver.on('message.delivered', () => pass('in-report'))
receiver.on('message.failed', (event, context) => repeat(event, context))
const server = http.createServer(receiver.middleware('status')).listen(port, '127.0.0.1')

const { send, resend } = createClient({
  receiver,
  answerWithinMs: ANSWER_WITHIN_MS,
  baseUrl,
  project,
  apiKey,
  logger: false,
  async fetch(url, init) {
    const asked = fetch(url, init)
    // Ends at a random moment on the way.
    setTimeout(() => pass('in-request'), 1)
    const response = await asked
    pass('in-answer')
    return response
  },
})
const repeat = resend({
  delayMs: 100,
  compose() {
    pass('in-text')
    return 'Hello again'
  },
})
await receiver.start()
const waiting = [...sends]
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [reference, to] = next
      // A send that was pending before, or is lost on its way.
      await send({ to, message: 'Hello', reference, withinMs: OVERDUE_AFTER_MS }).catch(() => {})
    }
  }),
)

async function allKept(): Promise<readonly StoredExpectation[]> {
  const all: StoredExpectation[] = []
  for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
    const page = await opened?.scan({ of: 'sends', after, limit: 1_000, fromMs: 0, toMs: Number.MAX_SAFE_INTEGER })
    all.push(...(page?.items ?? []))
    after = page?.next
  }
  return all
}

/** Whether no more answers and reports are awaited: each message has a final report or is overdue. */
async function isDecided(): Promise<boolean> {
  const { waiting: awaited } = await receiver.sends.account({ from: new Date(0), to: new Date(8e15) })
  return (
    awaited === 0 &&
    (await allKept()).every(({ expectation, wasOverdue }) => (expectation.recipients ?? 0) === 0 || wasOverdue)
  )
}

/** Checks again after draining: what became overdue before has its event then, and a handler may have sent again. */
async function isOver(): Promise<boolean> {
  if (point !== undefined) return false
  return (await isDecided()) && (await receiver.drain({ deadlineMs: 10_000 })) && (await isDecided())
}

while (!(await isOver())) await new Promise((soon) => setTimeout(soon, 100))
for (const { expectation, wasOverdue } of await allKept())
  writeSync(log, `kept ${JSON.stringify({ ...expectation, wasOverdue })}\n`)
const account = await receiver.sends.account({ from: new Date(0), to: new Date(8e15) })
writeSync(log, `account ${JSON.stringify(account)}\n`)
writeSync(log, 'over\n')
server.close()
server.closeAllConnections()
await receiver.close()
process.exit(0)
