/**
 * One of several receivers on one store. Its handlers log what they do, each line in one write to a file of its
 * own, so that a kill loses no line. Times come from a clock that all processes of the machine share.
 */
import { openSync, writeSync } from 'node:fs'
import http from 'node:http'
import { flushCompileCache } from 'node:module'
import { createReceiver, type Store } from '../../../../src/index.ts'
import type { AnswerOf, Command, MessageStore } from '../../../../src/store.ts'
import { faultyStore } from '../../../support/faulty-store.ts'
import { storeAround } from '../../../support/store-around.ts'
import { storeOf } from '../../../support/servers/store-spec.ts'
import { createCrash } from '../crashing.ts'
import { SETTINGS, type InstanceAnswer, type InstanceRequest, type InstanceSettings } from '../instance.ts'

// Written by the test that starts this program.
const settings = JSON.parse(process.env[SETTINGS] ?? '') as InstanceSettings
const { authKey, signingSecret, storeTimeoutMs = 20_000, handlerTimeoutMs = 1_000 } = settings
const OUTAGE_TURNS_MS = 150
const log = openSync(settings.log, 'a')
const codes: string[] = []
let opened: MessageStore | undefined
let release = (): void => {}
let held = Promise.resolve()

function write(line: string): void {
  writeSync(log, `${line} ${process.hrtime.bigint()}\n`)
}

const { pass, around } = createCrash(settings.crash, write)

/** Logs every confirmed settlement. */
function watched(inner: Store): Store {
  return storeAround(
    inner,
    {
      async run(commands, go) {
        const answers = await go()
        for (const [index, command] of commands.entries())
          if (command.do === 'settle' && isHeld(answers[index])) write(`settled ${command.id} ${command.outcome}`)
        return answers
      },
    },
    (store) => {
      opened = store
      return {}
    },
  )
}

function isHeld(answer: AnswerOf<Command> | undefined): boolean {
  return typeof answer === 'object' && 'held' in answer && answer.held
}

function said(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}

function answer(answered: InstanceAnswer): void {
  process.send?.(answered)
}

const store = await storeOf(settings.store, watched)
const faulty = faultyStore(around(store))
const { faulty: isFaulty = settings.crash !== undefined, outage = 'none' } = settings
if (outage === 'all the time' || outage === 'until then') faulty.fault = 'will not open'
if (outage === 'until then') setTimeout(() => void (faulty.fault = 'none'), OUTAGE_TURNS_MS)
if (outage === 'from then on') setTimeout(() => void (faulty.fault = 'throws'), OUTAGE_TURNS_MS)
const pair = { authKey, signingSecret }
const receiver = createReceiver({
  credentials() {
    pass('after-read')
    return pair
  },
  dedupeKey() {
    pass('after-verify')
    return undefined
  },
  store: isFaulty || outage !== 'none' ? faulty : store,
  spool: settings.spool ?? false,
  storeTimeoutMs,
  handlerTimeoutMs,
  ordering: { gapTimeoutMs: 2_000 },
  retry: { attempts: 3, initialDelayMs: 50 },
  dispatch: settings.dispatch ?? true,
  logger: false,
})
receiver.onError((error) => void codes.push(said(error)))
receiver.on(['message.*', 'late'], async (event, { attempt, signal }) => {
  const { messageId, status } = event.type === 'late' ? event.report : event
  write(`begin ${event.id} ${messageId} ${status} ${event.type === 'late' ? 'late' : 'itself'} ${attempt}`)
  await held
  await new Promise((resolve) =>
    setTimeout(resolve, settings.handlerMs ?? Math.random() * (settings.mostHandlerMs ?? 4)),
  )
  pass('in-handler')
  write(`${settings.handlerMs !== undefined && signal.aborted ? 'stopped' : 'end'} ${event.id}`)
})

async function obey(request: InstanceRequest): Promise<InstanceAnswer> {
  switch (request) {
    case 'report':
      return { codes, ...(await receiver.stats().catch(() => ({}))) }
    case 'drain':
      return { drained: await receiver.drain({ deadlineMs: 120_000 }), ...(await receiver.stats()) }
    case 'hold':
      held = new Promise((resolve) => (release = resolve))
      return {}
    case 'release':
      release()
      return {}
    case 'silence':
      return { silentMs: (await opened?.workers?.())?.find(({ isSelf }) => !isSelf)?.silentMs }
    case 'throws':
    case 'hangs':
    case 'is late':
    case 'none':
      faulty.fault = request
      return {}
  }
}

process.on('message', (request: InstanceRequest) => {
  obey(request).then(answer, (error: unknown) => answer({ codes: [`${request}: ${said(error)}`] }))
})
process.on('disconnect', () => process.exit())

if (settings.takes === false) {
  await receiver.start()
  answer({})
} else {
  const server = http.createServer(receiver.middleware('status'))
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    answer({ port: typeof address === 'object' ? (address?.port ?? 0) : 0 })
  })
  // Without a spool this waits for the store.
  await receiver.start().catch((error: unknown) => void codes.push(`start: ${said(error)}`))
}
// A killed process leaves no queued messages to the next one.
flushCompileCache()
